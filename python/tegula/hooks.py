"""What the hooks of ``knobs.runtime`` and ``knobs.compilation`` are called with.

C calls the two functions below while any hook is set (csrc/runtime/hooks.c).

    launch_enter_hook(lazy), launch_exit_hook(lazy)
        lazy.get() is a dict: name, function, stream, and what @jit(launch_metadata=f)
        adds: f(grid, metadata, arguments)
    jit_cache_hook(key=, repr=, fn=, compile=, is_manual_warmup=, already_compiled=)
        before a compile; a true result forbids it, and the launch returns None
    jit_post_compile_hook(the same)
    compilation.listener(src=, metadata=, metadata_group=, times=, cache_hit=)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tegula import knobs
from tegula.compiler import LazyDict


class JitFunctionInfo(NamedTuple):
    """The kernel that a compile hook is called about."""

    module: str
    name: str
    jit_function: Any


def around_launch(
    variant: Any, grid: tuple[int, int, int], arguments: dict[str, Any], stream: int
) -> Callable[[], None] | None:
    """Call the enter hooks; what to call after the launch, if anything."""
    info = LazyDict({"name": variant.name, "function": None, "stream": stream})
    describe = getattr(variant.src, "launch_metadata", None)
    if describe is not None:
        info.add(describe, (grid, variant.metadata, arguments))
    knobs.runtime.launch_enter_hook(info)
    leave = knobs.runtime.launch_exit_hook
    return (lambda: leave(info)) if leave else None


def _type_name(x: Any) -> str:
    """The type of an argument as signatures write it."""
    if x is None:
        return "constexpr"
    if isinstance(x, bool):
        return "u1"
    if isinstance(x, int):
        return "i32" if -(2**31) <= x < 2**31 else "i64" if x < 2**63 else "u64"
    if isinstance(x, float):
        return "fp32"
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return "constexpr"
    name = str(dtype).removeprefix("torch.")
    return "*" + _SHORT.get(name, name)


_SHORT = {"bool": "i1", "float16": "fp16", "bfloat16": "bf16"}
_SHORT |= {"float32": "fp32", "float64": "fp64", "uint8": "u8", "int8": "i8"}
_SHORT |= {
    f"{s}int{n}": f"{'u' if s else 'i'}{n}" for s in ("", "u") for n in (16, 32, 64)
}
_SHORT |= {"float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}


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
            metadata=variant.metadata._asdict(),
            metadata_group={},
            times=variant.timings,
            cache_hit=variant.metadata.from_disk,
        )
    hook = (
        knobs.runtime.jit_cache_hook
        if variant is None
        else knobs.runtime.jit_post_compile_hook
    )
    if hook is None:
        return False
    signature = {
        p.name: "constexpr" if p.is_constexpr else _type_name(arguments[p.name])
        for p in kernel.params
    }
    constants = {k: arguments[k] for k, t in signature.items() if t == "constexpr"}
    shown = ", ".join(f"{name}: {ty}" for name, ty in signature.items())
    flags = ", ".join(f"{k}={v}" for k, v in options.items())
    forbidden = hook(
        key=key,
        repr=f"{kernel.__name__}[{flags}]({shown})",
        fn=JitFunctionInfo(kernel.__module__, kernel.__name__, kernel),
        compile={
            "key": key,
            "signature": signature,
            "device": target,
            "constants": constants,
            **options,
            "extern_libs": None,
            "configs": [{}],
            "specialization_data": None,
            "is_warmup": warmup,
        },
        is_manual_warmup=warmup,
        already_compiled=False,
    )
    return bool(forbidden) and variant is None
