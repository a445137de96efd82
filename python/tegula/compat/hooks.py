"""What the hooks of ``knobs.runtime`` and ``knobs.compilation`` are called with.

C calls the ``around_*`` below while any hook is set (csrc/runtime/hooks.c).

    launch_enter_hook(lazy), launch_exit_hook(lazy)
        lazy.get() is a dict: name, function, stream, and what @jit(launch_metadata=f)
        adds: f(grid, metadata, arguments)
    jit_cache_hook(key=, repr=, fn=, compile=, is_manual_warmup=, already_compiled=)
        before a compile; a true result forbids it, and the launch returns None
    jit_post_compile_hook(the same)
    kernel_load_start_hook(module, function, name, metadata_group, hash), and _end_hook
        before and after the code of a variant is loaded; module and function are the
        driver's handles, None ahead of it and on the CPU
    kernel_unload_hook(the same)
        before the code goes, when nobody has the variant any more
    add_stages_inspection_hook(backend, stages, options, language, capability)
        before a compile; stages is a dict by name. It is for looking: a stage that is
        replaced is a RuntimeError
    compilation.listener(src=, metadata=, metadata_group=, times=, cache_hit=)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tegula import knobs
from tegula.compat.compiler import LazyDict
from tegula.signatures import signature_text


class JitFunctionInfo(NamedTuple):
    """The kernel that a compile hook is called about."""

    module: str
    name: str
    jit_function: Any


def launch_info(
    variant: Any, grid: Any, arguments: dict[str, Any], stream: int
) -> LazyDict:
    """What launch hooks are called with."""
    info = LazyDict(
        {"name": variant.name, "function": variant.function, "stream": stream}
    )
    info.variant = variant  # for the profiler, which asks it after the launch
    describe = getattr(variant._kernel, "launch_metadata", None)
    if describe is not None:
        info.add(describe, (grid, variant.metadata, arguments))
    return info


def around_launch(
    variant: Any, grid: tuple[int, int, int], arguments: dict[str, Any], stream: int
) -> Callable[[], None] | None:
    """Call the enter hooks; what to call after the launch, if anything."""
    info = launch_info(variant, grid, arguments, stream)
    knobs.runtime.launch_enter_hook(info)
    leave = knobs.runtime.launch_exit_hook
    return (lambda: leave(info)) if leave else None


def around_load(variant: Any, is_done: bool) -> None:
    """Call the load hooks."""
    hook = (
        knobs.runtime.kernel_load_end_hook
        if is_done
        else knobs.runtime.kernel_load_start_hook
    )
    if hook:
        group = {f"{variant.name}.{k}": k for k in variant.asm}
        hook(variant.module, variant.function, variant.name, group, variant.hash)


def around_unload(
    module: int, function: int, name: str, stages: list[str], digest: str
) -> None:
    """Call the unload hook; there is no variant any more to ask."""
    group = {f"{name}.{k}": k for k in stages}
    knobs.runtime.kernel_unload_hook(
        module or None, function or None, name, group, digest
    )


class Specialization(NamedTuple):
    """What ``@jit(repr=f)`` is called with."""

    fn: Any
    signature: dict[str, Any]
    constants: dict[str, Any]


def specialization(kernel: Any, arguments: dict[str, Any]) -> Specialization:
    """The types and constants of a call."""
    signature: dict[str, Any] = {}
    for p in kernel.params:
        x = arguments[p.name]
        one = isinstance(x, int) and not isinstance(x, bool) and x == 1
        if p.is_constexpr or (one and not p.do_not_specialize and not p.annotation):
            signature[p.name] = "constexpr"
        else:
            signature[p.name] = signature_text(x)
    constants = {k: arguments[k] for k, t in signature.items() if t == "constexpr"}
    return Specialization(kernel, signature, constants)


def variant_name(kernel: Any, arguments: dict[str, Any]) -> str:
    """The name that ``@jit(repr=...)`` gives the variant of a call."""
    name = kernel.repr(specialization(kernel, arguments))
    if not isinstance(name, str):
        raise TypeError(f"@jit(repr=) gave {name!r} for {kernel.__name__}, not a name")
    return name


def _inspect_stages(target: str, options: dict[str, Any]) -> None:
    """Show the stages of a compile to ``add_stages_inspection_hook``."""
    from tegula.compat import backends

    def stage(*_: Any) -> Any:
        raise RuntimeError("the stages of tegula run in C: they cannot be called")

    t = backends.target_of(target)
    names = ["tir", "llir", "obj"]
    if t.backend != "cpu":
        names[1:1] = ["simt"]
    if t.backend == "cuda":
        names[2:] = ["llir", "ptx", "cubin"]
    stages = dict.fromkeys(names, stage)
    knobs.runtime.add_stages_inspection_hook(
        backends.BaseBackend(t), stages, options, backends.Language.TRITON, t.arch
    )
    if stages != dict.fromkeys(names, stage):
        raise RuntimeError("add_stages_inspection_hook cannot replace stages of tegula")


# The stages that have a file each, for dump_stages and override_files.
_FILES = ("tir", "simt", "llir", "ptx", "cubin")


def dump_stages(variant: Any) -> None:
    """``knobs.compilation.dump_ir``: the stages of a variant, one file each."""
    from tegula.runtime.cache import get_dump_manager

    if not variant.hash:
        return
    manager = get_dump_manager(variant.hash)
    for stage in _FILES:
        if stage in variant.asm:
            manager.put(variant.asm[stage], f"{variant.name}.{stage}")


def override_files(name: str, digest: str) -> list[str]:
    """``knobs.compilation.override``: the files there are for a variant."""
    from tegula.runtime.cache import get_override_manager

    if not digest:
        return []
    manager = get_override_manager(digest)
    found = [manager.get_file(f"{name}.{stage}") for stage in _FILES]
    paths = [path for path in found if path]
    for path in paths:
        print(f"\nOverriding kernel with file {path}")
    return paths


def _plain(x: Any) -> dict[str, Any]:
    """What JSON has no word for: dtypes and constants. jit._untuple reads it back."""
    from tegula.language import constexpr, dtype

    if isinstance(x, constexpr):
        return {"constexpr": x.value}
    if type(x) is dtype:
        return {"dtype": x.name}
    raise TypeError(f"{x!r} has no text")


def _specialization_data(
    kernel: Any,
    target: str,
    options: dict[str, Any],
    signature: dict[str, Any],
    arguments: dict[str, Any],
) -> str | None:
    """What ``kernel.preload`` compiles from, as JSON; None when a constant has no text."""
    import importlib

    jit: Any = importlib.import_module("tegula.jit")

    def type_of(name: str, x: Any) -> Any:
        if isinstance(x, str) and signature[name] != "constexpr":
            return x  # kernel.compile() was called with a signature
        return signature_text(x, facts=True)

    types = {
        k: type_of(k, x) for k, x in arguments.items() if signature[k] != "constexpr"
    }
    constants = {k: arguments[k] for k in signature if k not in types}
    try:
        # Looked up there, where programs replace it.
        text: str | None = jit.serialize_specialization_data(
            kernel.__qualname__, target, types, constants, options
        )
    except (TypeError, ValueError):
        return None
    return text


def serialize_specialization_data(
    name: str,
    target: str,
    types: dict[str, Any],
    constants: dict[str, Any],
    options: dict[str, Any],
) -> str:
    """A variant as JSON, for ``kernel.preload``. TypeError where a constant has no text."""
    import json

    return json.dumps(
        {
            "name": name,
            "target": target,
            "types": types,
            "constants": constants,
            "options": options,
        },
        default=_plain,
    )


def _target(variant: Any) -> Any:
    from tegula.compat import backends

    return backends.target_of(variant.target)


def _times(variant: Any) -> knobs.CompileTimes:
    """In whole microseconds, at least one for what was done at all."""
    took = {k: max(1, round(1000 * v)) for k, v in variant.timings.items() if v}
    first = took.pop("frontend", 1)
    if variant.metadata.from_disk:
        return knobs.CompileTimes(first, [], 0)
    return knobs.CompileTimes(first, list(took.items()), 1)


def around_compile(
    kernel: Any,
    key: str,
    target: str,
    options: dict[str, Any],
    arguments: dict[str, Any],
    warmup: bool,
    variant: Any,
) -> bool:
    """Call the compile hooks; true: do not compile."""
    if variant is not None and knobs.compilation.listener:
        knobs.compilation.listener(
            src=kernel,
            metadata=variant.metadata._asdict() | {"target": _target(variant)},
            metadata_group={},
            times=_times(variant),
            cache_hit=variant.metadata.from_disk,
        )
    if variant is None and knobs.runtime.add_stages_inspection_hook:
        _inspect_stages(target, options)
    hook = (
        knobs.runtime.jit_cache_hook
        if variant is None
        else knobs.runtime.jit_post_compile_hook
    )
    if hook is None:
        return False
    _, signature, constants = specialization(kernel, arguments)
    shown = ", ".join(f"{name}: {ty}" for name, ty in signature.items())
    flags = ", ".join(f"{k}={v}" for k, v in options.items())
    forbidden = hook(
        key=key,
        repr=f"{kernel.__name__}[{flags}]({shown})",
        fn=JitFunctionInfo(kernel.__module__, kernel.__qualname__, kernel),
        compile={
            "key": key,
            "signature": signature,
            "device": target,
            "constants": constants,
            **options,
            "extern_libs": None,
            "configs": [{}],
            "specialization_data": _specialization_data(
                kernel, target, options, signature, arguments
            ),
            "is_warmup": warmup,
        },
        is_manual_warmup=warmup,
        already_compiled=False,
    )
    return bool(forbidden) and variant is None
