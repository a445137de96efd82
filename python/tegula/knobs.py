"""Every environment variable Tegula reads: one row each, read once, at import.

``knobs.compilation.dump`` is the value; assigning to it holds for this process, from
the next compile on, and ``with knobs.compilation.scope():`` puts back what the block
changed.
``python -m tegula knobs`` prints the table below with what is set.

A row names Triton's variable beside ours where Triton has one: ours wins when both are
set. Triton's knobs that have nothing to do here can be read and set all the same: they
are listed in ``tegula/compat/knobs.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tegula import _core


class Row(NamedTuple):
    group: str
    name: str
    variable: str
    triton: str | None  # Triton's name for the same thing
    kind: type  # bool, int, str; str means None when unset and no default is given
    default: Any
    doc: str
    core: str | None = None  # its name in _core.configure, when C reads it

    @property
    def key(self) -> str:
        """The variable, Triton's where it has one."""
        return self.triton or self.variable


def _default_cache_dir() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
    return os.path.join(home, "tegula")


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("runtime", "target", "TEGULA_TARGET", None, str, None,
        "machine to compile for when tensors do not say: cpu, cuda, cuda:sm_90a, emu:sm_90a", "target"),
    Row("runtime", "num_threads", "TEGULA_NUM_THREADS", None, int, 0,
        "threads a grid runs on at most on the CPU; 0: one per CPU of the process", "num_threads"),
    Row("runtime", "stream_bytes", "TEGULA_STREAM_BYTES", None, int, 0,
        "a launch on the CPU that writes so many bytes and reads none of them writes past the caches; "
        "0: as many as the last cache holds", "stream_bytes"),
    Row("runtime", "interpret", "TEGULA_INTERPRET", "TRITON_INTERPRET", bool, False,
        "run kernels in the reference interpreter: slow, exact, checks every access", "interpret"),
    Row("runtime", "debug", "TEGULA_DEBUG_KERNELS", "TRITON_DEBUG", bool, False,
        "device_assert and checks of integer overflow are live in every kernel", "debug"),
    Row("runtime", "check_bounds", "TEGULA_CHECK_BOUNDS", None, bool, False,
        "a load or store outside of the tensors of a launch on the CPU raises OutOfBoundsError; "
        "up to a third slower", "check_bounds"),
    Row("runtime", "emu_seed", "TEGULA_EMU_SEED", None, int, 0,
        "order in which the emulator runs warps is shuffled by this; 0: in order", "emu_seed"),
    Row("compilation", "dump", "TEGULA_DUMP", None, str, None,
        "passes to print the IR after: fold,coalesce or all; kernel: in front picks one kernel", "dump"),
    Row("compilation", "dump_dir", "TEGULA_DUMP_DIR", "TRITON_DUMP_DIR", str, None,
        "directory that gets every stage: 00-frontend.tir .. 20-emit.ptx", "dump_dir"),
    Row("compilation", "stop", "TEGULA_STOP", None, str, None,
        "pass after which a compile stops, with an error that says so", "stop"),
    Row("compilation", "always_compile", "TEGULA_ALWAYS_COMPILE", "TRITON_ALWAYS_COMPILE", bool, False,
        "do not take kernels from the cache on disk", "always_compile"),
    Row("compilation", "allow_non_constexpr_globals", "TEGULA_ALLOW_NON_CONSTEXPR_GLOBALS",
        "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", bool, False,
        "kernels may read any global, which is then taken for a constant"),
    Row("compilation", "line_info", "TEGULA_LINE_INFO", None, bool, False,
        "PTX and machine code for GPUs say which line of the kernel they are for: Nsight Compute and "
        "compute-sanitizer show it; nothing else changes, and the disk cache is not used", "line_info"),
    Row("compilation", "libdevice", "TEGULA_LIBDEVICE", "TRITON_LIBDEVICE_PATH", str, None,
        "libdevice.10.bc, for functions of it that tl.extra.libdevice has not; else where CUDA is"),
    Row("cache", "dir", "TEGULA_CACHE_DIR", "TRITON_CACHE_DIR", str, _default_cache_dir(),
        "where compiled kernels are kept; empty: nowhere", "cache_dir"),
    Row("cache", "max_bytes", "TEGULA_CACHE_MAX_BYTES", None, int, 2 << 30,
        "size above which the least recently used kernels are dropped", "cache_max_bytes"),
    Row("autotuning", "cache", "TEGULA_CACHE_AUTOTUNING", "TRITON_CACHE_AUTOTUNING", bool, False,
        "keep the results of every autotuner on disk"),
    Row("autotuning", "print", "TEGULA_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING", bool, False,
        "say which configuration won, and by how much"),
    Row("language", "fp32_default", "TEGULA_F32_DEFAULT", "TRITON_F32_DEFAULT", str, None,
        "input_precision of an f32 dot that does not give one: tf32, tf32x3, ieee, bf16x3, bf16x6"),
    Row("language", "default_fp_fusion", "TEGULA_FP_FUSION", "TRITON_DEFAULT_FP_FUSION", bool, True,
        "a * b + c may be rounded once, unless a launch says otherwise", "fp_fusion"),
    Row("nvidia", "ptxas", "TEGULA_PTXAS", "TRITON_PTXAS_PATH", str, None,
        "the assembler; none: the driver's; else the nvidia-cuda-nvcc wheel's, CUDA_HOME's, the one on PATH", "ptxas"),
    Row("nvidia", "libcuda", "TEGULA_LIBCUDA", None, str, None,
        "the driver's library; else libcuda.so.1", "libcuda"),
)
# fmt: on

_TRUE = ("1", "true", "y", "yes", "on")
_FALSE = ("0", "false", "n", "no", "off", "")


def _parse(row: Row, variable: str, text: str) -> Any:
    if row.kind is bool:
        lower = text.strip().lower()
        if lower in _TRUE:
            return True
        if lower in _FALSE:
            return False
        raise ValueError(f"{variable}={text}: expected 1 or 0")
    if row.kind is int:
        try:
            return int(text, 0) if text.strip() else row.default
        except ValueError:
            raise ValueError(f"{variable}={text}: expected an integer") from None
    return text


def _from_environment(row: Row) -> Any:
    for variable in (row.variable, row.triton):
        text = os.environ.get(variable) if variable else None
        if variable and text is not None:
            return _parse(row, variable, text)
    return row.default


class HookChain:
    """Functions that are called one after the other; ``add`` and ``remove`` them.

    What ends something is called in the reverse order of what begins it.
    """

    def __init__(
        self, backwards: bool = False, calls: Iterable[Callable[..., Any]] = ()
    ) -> None:
        self.calls = list(calls)
        self._reversed = backwards

    def add(self, func: Callable[..., Any]) -> None:
        if func not in self.calls:
            self.calls.append(func)
        _connect()

    def remove(self, func: Callable[..., Any]) -> None:
        if func in self.calls:
            self.calls.remove(func)
        _connect()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for call in list(reversed(self.calls) if self._reversed else self.calls):
            call(*args, **kwargs)

    def __bool__(self) -> bool:
        return bool(self.calls)


_CHAINS = (
    "launch_enter_hook",
    "launch_exit_hook",
    "kernel_load_start_hook",
    "kernel_load_end_hook",
)
_REVERSED = ("launch_exit_hook", "kernel_load_end_hook")
# Set to a function, or None. What each is called with: tegula/hooks.py.
HOOKS = {
    "runtime": (
        *_CHAINS,
        "jit_cache_hook",
        "jit_post_compile_hook",
        "add_stages_inspection_hook",
    ),
    "compilation": ("listener",),
}


def _connect() -> None:
    """Tell C which hooks there are: a launch without any asks nothing."""
    launch = runtime.launch_enter_hook or runtime.launch_exit_hook
    load = runtime.kernel_load_start_hook or runtime.kernel_load_end_hook
    compile = (
        runtime.jit_cache_hook
        or runtime.jit_post_compile_hook
        or runtime.add_stages_inspection_hook
        or compilation.listener
    )
    if not launch and not compile and not load:
        _core.configure(launch_hook=None, compile_hook=None, load_hook=None)
        return
    from tegula import hooks

    _core.configure(
        launch_hook=hooks.around_launch if launch else None,
        compile_hook=hooks.around_compile if compile else None,
        load_hook=hooks.around_load if load else None,
    )


class _Env:
    """Assigned to a knob, it gives it back to the environment."""


env = _Env()
# Triton exports what is assigned to its knobs. Here a knob holds for this process, whatever
# this says.
propagate_env = False


class Group:
    """The knobs of one group, as attributes."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)
        for hook in HOOKS.get(name, ()):
            chain = HookChain(hook in _REVERSED) if hook in _CHAINS else None
            object.__setattr__(self, hook, chain)
        self.refresh()

    def refresh(self) -> None:
        """Read the environment again."""
        for row in self.rows():
            self._put(row, _from_environment(row))
        object.__setattr__(self, "_others", {})

    def copy(self) -> Group:
        """A group of its own with the same values. Both configure the one compiler."""
        new = Group(self._name)
        for row in self.rows():
            new._put(row, getattr(self, row.name))
        for name in HOOKS.get(self._name, ()):
            setattr(new, name, getattr(self, name))
        new._others.update(self._others)
        return new

    @property
    def knob_descriptors(self) -> dict[str, Row]:
        """The rows of the group, by name."""
        return {row.name: row for row in self.rows()}

    @property
    def knobs(self) -> dict[str, Any]:
        """The values of the group, by name."""
        return {row.name: getattr(self, row.name) for row in self.rows()}

    def reset(self) -> Group:
        """The same, and no hooks; Triton's name for it."""
        self.refresh()
        for name in HOOKS.get(self._name, ()):
            setattr(self, name, None)
        return self

    def _put(self, row: Row, value: Any) -> None:
        if row.core:
            _core.configure(**{row.core: value})  # first: it may refuse the value
        object.__setattr__(self, row.name, value)

    def rows(self) -> list[Row]:
        return [row for row in ROWS if row.group == self._name]

    def __getattr__(self, name: str) -> Any:  # only for names that are not there
        if not name.startswith("_"):
            from tegula.compat import knobs as others

            if name in self._others:
                return self._others[name]
            if name in others.ROWS[self._name]:
                return others.read(self._name, name)
        raise AttributeError(f"tegula.knobs.{self._name} has no knob '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        for row in self.rows():
            if row.name == name:
                value = _from_environment(row) if value is env else value
                return self._put(row, value)
        if name in HOOKS.get(self._name, ()):
            return self._hook(name, value)
        from tegula.compat import knobs as others

        if name not in others.ROWS[self._name]:
            raise AttributeError(f"tegula.knobs.{self._name} has no knob '{name}'")
        if value is env:
            self._others.pop(name, None)
        else:
            self._others[name] = value

    def __delattr__(self, name: str) -> None:
        setattr(self, name, env)

    def _hook(self, name: str, value: Any) -> None:
        if name in _CHAINS:
            calls = [] if value is None else getattr(value, "calls", [value])
            value = HookChain(name in _REVERSED, calls)
        object.__setattr__(self, name, value)
        _connect()

    @contextmanager
    def scope(self) -> Iterator[Group]:
        """Put every knob and hook of the group back at the end of the block."""
        before = [(row, getattr(self, row.name)) for row in self.rows()]
        hooks = {
            name: HookChain(hook._reversed, hook.calls)
            if isinstance(hook := getattr(self, name), HookChain)
            else hook
            for name in HOOKS.get(self._name, ())
        }
        others = dict(self._others)
        try:
            yield self
        finally:
            object.__setattr__(self, "_others", others)
            for row, value in before:
                self._put(row, value)
            for name, hook in hooks.items():
                setattr(self, name, hook)


runtime = Group("runtime")
compilation = Group("compilation")
cache = Group("cache")
autotuning = Group("autotuning")
language = Group("language")
nvidia = Group("nvidia")
base_knobs = Group

_GROUPS = {
    g._name: g for g in (runtime, compilation, cache, autotuning, language, nvidia)
}


def __getattr__(name: str) -> Any:
    if name in ("build", "redis", "amd", "proton"):  # Triton's, with no row here
        globals()[name] = group = Group(name)
        return group
    if name == "NvidiaTool":
        from tegula.compat.knobs import NvidiaTool

        return NvidiaTool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def refresh_knobs() -> None:
    """Read the environment again: it is read once, at import."""
    for group in _GROUPS.values():
        group.refresh()


def describe() -> str:
    """The table as text: variable, value, meaning."""
    lines = []
    for row in ROWS:
        value = getattr(_GROUPS[row.group], row.name)
        also = f" (also {row.triton})" if row.triton else ""
        lines.append(f"{row.variable}={'' if value is None else value}")
        lines.append(f"    knobs.{row.group}.{row.name}: {row.doc}{also}")
    return "\n".join(lines)
