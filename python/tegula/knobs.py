"""Every environment variable Tegula reads: one row each.

``knobs.compilation.dump`` is what was assigned to it, else what the environment says now;
assigning holds from the next compile on, and ``with knobs.compilation.scope():`` puts back
what the block changed. What C has to know of them it is told when a knob is assigned, when
a function is decorated and ahead of each compile: launches of what is compiled already read
no environment.
``python -m tegula knobs`` prints the table below with what is set.

A row names Triton's variable beside ours where Triton has one: ours wins when both are
set. Triton's knobs that have nothing to do here can be read and set all the same: they
are listed in ``tegula/compat/knobs.py``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from tegula import _core

from .knob_types import HookChain as HookChain
from .knob_types import base_knobs as base_knobs
from .knob_types import env as env
from .knob_types import env_base as env_base
from .knob_types import env_bool as env_bool
from .knob_types import env_class as env_class
from .knob_types import env_int as env_int
from .knob_types import env_nvidia_tool as env_nvidia_tool
from .knob_types import env_opt_bool as env_opt_bool
from .knob_types import env_opt_str as env_opt_str
from .knob_types import env_path as env_path
from .knob_types import env_str as env_str
from .knob_types import env_str_callable_default as env_str_callable_default
from .knob_types import env_strset as env_strset
from .knob_types import setenv as setenv

# Does assigning a knob that Triton has, too, export it to the environment?
propagate_env = True


class Row(NamedTuple):
    group: str
    name: str
    variable: str
    triton: str | None  # Triton's name for the same thing
    kind: type[env_base]
    default: Any
    doc: str
    core: str | None = None  # its name in _core.configure, when C reads it


def _default_cache_dir(group: Any) -> str:
    if "home_dir" in vars(group) or "TRITON_HOME" in os.environ:
        return os.path.join(group.home_dir, ".triton", "cache")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # A user without a home, in a container: nothing is kept.
    return "" if home.startswith("~") else os.path.join(home, "tegula")


def _default_dump_dir(group: Any) -> str | None:
    if not group.dump_ir:
        return None
    os.makedirs(cache.dump_dir, exist_ok=True)
    return str(cache.dump_dir)


def _default_target(group: Any) -> str | None:
    """Sanitizers are what the emulator does: it is asked for by Triton's variable."""
    mode = os.environ.get("TRITON_INSTRUMENTATION_MODE", "")
    names = {name.strip() for name in mode.split(",")} if mode else set()
    if not names <= {"consan", "gsan"}:
        raise ValueError(
            f"TRITON_INSTRUMENTATION_MODE={mode}: there are consan and gsan here, which run "
            "kernels on the emulator"
        )
    return "emu:sm_90a" if mode else None


def _default_libcuda(group: Any) -> str | None:
    place = group.libcuda_path
    return os.path.join(place, "libcuda.so.1") if place else None


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("runtime", "target", "TEGULA_TARGET", None, env_opt_str, _default_target,
        "machine to compile for when tensors do not say: cpu, cuda, cuda:sm_90a, emu:sm_90a", "target"),
    Row("runtime", "num_threads", "TEGULA_NUM_THREADS", None, env_int, 0,
        "threads a grid runs on at most on the CPU; 0: one per CPU of the process", "num_threads"),
    Row("runtime", "stream_bytes", "TEGULA_STREAM_BYTES", None, env_int, 0,
        "a launch on the CPU that writes so many bytes and reads none of them writes past the caches; "
        "0: as many as the last cache holds, 4 MB a CPU of the machine at most", "stream_bytes"),
    Row("runtime", "interpret", "TEGULA_INTERPRET", "TRITON_INTERPRET", env_bool, False,
        "run kernels in the reference interpreter: slow, exact, checks every access", "interpret"),
    Row("runtime", "debug", "TEGULA_DEBUG_KERNELS", "TRITON_DEBUG", env_bool, False,
        "device_assert and checks of integer overflow are live in every kernel", "debug"),
    Row("runtime", "check_bounds", "TEGULA_CHECK_BOUNDS", None, env_opt_bool, None,
        "a load or store outside of the tensors of a launch on the CPU raises OutOfBoundsError: 1: in every "
        "launch, up to a third slower; 0: never; unset: a store in the first launch of new code", "check_bounds"),
    Row("runtime", "triton_version", "TEGULA_TRITON_VERSION", None, env_str, "3.9.0",
        "the version that triton says it is where tegula stands in its place; read at the import of tegula.compat"),
    Row("runtime", "emu_seed", "TEGULA_EMU_SEED", None, env_int, 0,
        "order in which the emulator runs warps is shuffled by this; 0: in order", "emu_seed"),
    Row("compilation", "dump", "TEGULA_DUMP", None, env_opt_str, None,
        "passes to print the IR after: fold,coalesce or all; kernel: in front picks one kernel", "dump"),
    Row("compilation", "dump_dir", "TEGULA_DUMP_DIR", "TRITON_DUMP_DIR", env_path, _default_dump_dir,
        "directory that gets every stage: 00-frontend.tir .. 20-emit.ptx", "dump_dir"),
    Row("compilation", "stop", "TEGULA_STOP", None, env_opt_str, None,
        "pass after which a compile stops, with an error that says so", "stop"),
    Row("compilation", "override", "TEGULA_OVERRIDE", "TRITON_KERNEL_OVERRIDE", env_bool, False,
        "files <cache.override_dir>/<hash>/<kernel>.tir, .simt, .llir, .ptx or .cubin replace what a compile makes", "override"),
    Row("compilation", "dump_ir", "TEGULA_DUMP_IR", "TRITON_KERNEL_DUMP", env_bool, False,
        "every stage to <cache.dump_dir>/<hash>/, as files that override takes, and as dump_dir has them", "dump_ir"),
    Row("compilation", "front_end_debugging", "TEGULA_FRONT_END_DEBUGGING", "TRITON_FRONT_END_DEBUGGING", env_bool, False,
        "what a Python function raises that a kernel calls while compiling is raised as it is, with its traceback", "front_end_debugging"),
    Row("compilation", "always_compile", "TEGULA_ALWAYS_COMPILE", "TRITON_ALWAYS_COMPILE", env_bool, False,
        "do not take kernels from the cache on disk", "always_compile"),
    Row("compilation", "allow_non_constexpr_globals", "TEGULA_ALLOW_NON_CONSTEXPR_GLOBALS",
        "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", env_bool, False,
        "kernels may read any global, which is then taken for a constant"),
    Row("compilation", "line_info", "TEGULA_LINE_INFO", None, env_bool, False,
        "PTX and machine code for GPUs say which line of the kernel they are for: Nsight Compute and "
        "compute-sanitizer show it; nothing else changes, and the disk cache is not used", "line_info"),
    Row("compilation", "libdevice", "TEGULA_LIBDEVICE", "TRITON_LIBDEVICE_PATH", env_path, None,
        "libdevice.10.bc, for functions of it that tl.extra.libdevice has not; else where CUDA is"),
    Row("cache", "dir", "TEGULA_CACHE_DIR", "TRITON_CACHE_DIR", env_path, _default_cache_dir,
        "where compiled kernels are kept; empty: nowhere", "cache_dir"),
    Row("cache", "max_bytes", "TEGULA_CACHE_MAX_BYTES", None, env_int, 2 << 30,
        "size above which the least recently used kernels are dropped", "cache_max_bytes"),
    Row("autotuning", "cache", "TEGULA_CACHE_AUTOTUNING", "TRITON_CACHE_AUTOTUNING", env_bool, False,
        "keep the results of every autotuner on disk"),
    Row("autotuning", "print", "TEGULA_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING", env_bool, False,
        "say which configuration won, and by how much"),
    Row("autotuning", "deterministic", "TEGULA_DETERMINISTIC_AUTOTUNING", None, env_bool, False,
        "nothing is timed: what is loaded, pinned or kept on disk decides, else the first configuration that compiles"),
    Row("language", "fp32_default", "TEGULA_F32_DEFAULT", "TRITON_F32_DEFAULT", env_opt_str, None,
        "input_precision of an f32 dot that does not give one: tf32, tf32x3, ieee, bf16x3, bf16x6"),
    Row("language", "default_fp_fusion", "TEGULA_FP_FUSION", "TRITON_DEFAULT_FP_FUSION", env_bool, True,
        "a * b + c may be rounded once, unless a launch says otherwise", "fp_fusion"),
    Row("language", "force_disable_fp_fusion", "TEGULA_FORCE_DISABLE_FP_FUSION", "TRITON_FORCE_DISABLE_FP_FUSION",
        env_bool, False, "a * b + c is rounded twice, whatever a launch says", "no_fp_fusion"),
    Row("nvidia", "ptxas", "TEGULA_PTXAS", "TRITON_PTXAS_PATH", env_nvidia_tool, None,
        "the assembler; none: the driver's; else the nvidia-cuda-nvcc wheel's, CUDA_HOME's, the one on PATH", "ptxas"),
    Row("nvidia", "ptxas_options", "TEGULA_PTXAS_OPTIONS", "PTXAS_OPTIONS", env_opt_str, None,
        "options of the assembler for launches that give no ptx_options", "ptxas_options"),
    Row("nvidia", "disable_ptxas_opt", "TEGULA_DISABLE_PTXAS_OPT", "DISABLE_PTXAS_OPT", env_bool, False,
        "the assembler optimises nothing", "disable_ptxas_opt"),
    Row("nvidia", "tma", "TEGULA_TMA", None, env_bool, True,
        "products on sm_90 may be fed by copies of tensors (TMA); 0: only by copies of each thread", "tma"),
    Row("nvidia", "dump_nvptx", "TEGULA_DUMP_NVPTX", "NVPTX_ENABLE_DUMP", env_bool, False,
        "print the PTX of every compile", "dump_nvptx"),
    Row("nvidia", "dump_ptxas_log", "TEGULA_DUMP_PTXAS_LOG", "TRITON_DUMP_PTXAS_LOG", env_bool, False,
        "print what the assembler says: registers, spills", "dump_ptxas_log"),
    Row("nvidia", "libcuda", "TEGULA_LIBCUDA", None, env_path, _default_libcuda,
        "the driver's library; else libcuda.so.1", "libcuda"),
)
# fmt: on

_CHAINS = (
    "launch_enter_hook",
    "launch_exit_hook",
    "kernel_load_start_hook",
    "kernel_load_end_hook",
    "kernel_unload_hook",
)
_REVERSED = ("launch_exit_hook", "kernel_load_end_hook")
# Set to a function, or None. What each is called with: tegula/compat/hooks.py.
HOOKS = {
    "runtime": (
        *_CHAINS,
        "jit_cache_hook",
        "jit_post_compile_hook",
        "add_stages_inspection_hook",
    ),
    "compilation": ("listener",),
    "autotuning": ("listener",),
}


class Group(base_knobs):
    """The knobs of one group, as attributes, and its hooks."""

    _name = ""

    def __init__(self) -> None:
        for hook in HOOKS.get(self._name, ()):
            chain = HookChain(hook in _REVERSED) if hook in _CHAINS else None
            self.__dict__[hook] = chain

    def _change(self, knob: env_base, value: Any) -> None:
        """Tell C, unless this is a copy that nobody reads. Defaults may depend on it."""
        global _seen
        _seen = None
        if knob.core and _groups().get(self._name) is self:
            _configure(knob.core, value)

    def rows(self) -> list[Row]:
        return [row for row in ROWS if row.group == self._name]

    def copy(self) -> Group:
        new = super().copy()
        new._put_hooks(self._hooks())
        return new

    def reset(self) -> Group:
        """The same as the environment has it, and no hooks."""
        super().reset()
        for name in HOOKS.get(self._name, ()):
            setattr(self, name, None)
        return self

    @contextmanager
    def scope(self) -> Iterator[Group]:
        """Put every knob and hook of the group, and its variables, back at the end."""
        hooks = self._hooks()
        try:
            with super().scope():
                yield self
        finally:
            self._put_hooks(hooks)

    def _hooks(self) -> dict[str, Any]:
        """The hooks: chains as lists."""
        return {
            name: list(hook.calls) if isinstance(hook, HookChain) else hook
            for name in HOOKS.get(self._name, ())
            for hook in (self.__dict__[name],)
        }

    def _put_hooks(self, hooks: dict[str, Any]) -> None:
        for name, hook in hooks.items():
            setattr(self, name, hook)

    def fp_fusion_enabled(self, requested: bool | None = None) -> bool:
        """Is a * b + c rounded once in a kernel whose launch says so, or nothing: None?"""
        if self._name != "language":
            return bool(self.__getattr__("fp_fusion_enabled"))
        if self.force_disable_fp_fusion:
            return False
        if requested is not None:
            return requested
        knob = vars(type(self))["default_fp_fusion"]
        if knob.name not in vars(self) and not knob.is_in_environment():
            import warnings

            from tegula.compat.later_names import FP_FUSION_DEFAULT_WARNING

            warnings.warn(FP_FUSION_DEFAULT_WARNING, FutureWarning, stacklevel=2)
        return bool(self.default_fp_fusion)

    def __getattr__(self, name: str) -> Any:  # only for names that are not there
        raise AttributeError(f"tegula.knobs.{self._name} has no knob '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in HOOKS.get(self._name, ()):
            if name in _CHAINS:
                calls = getattr(value, "calls", value)
                calls = calls if isinstance(calls, list) else [calls] if calls else []
                value = HookChain(name in _REVERSED, calls)
            self.__dict__[name] = value
            _connect()
        elif isinstance(getattr(type(self), name, None), env_base):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"tegula.knobs.{self._name} has no knob '{name}'")


def _groups() -> dict[str, Group]:
    """The groups as they are now: tests put others in their places."""
    return {k: v for k, v in globals().items() if isinstance(v, Group)}


def _make_group(name: str) -> Any:
    """A group, of a class of its own, of our rows and of Triton's other knobs."""
    from tegula.compat import knobs as others

    of_class: dict[str, Any] = {"_name": name, "__doc__": f"The knobs of {name}."}
    of_class |= others.ROWS[name]
    for row in ROWS:
        if row.group == name:
            of_class[row.name] = row.kind(
                row.triton or "",
                default=row.default,
                ours=row.variable,
                core=row.core,
            )
    cls = type(f"{name}_knobs", (Group,), of_class)
    globals()[cls.__name__] = cls
    return cls()


# --- what C is told ---
_told: dict[str, Any] = {}  # by the name in configure


def _configure(core: str, value: Any) -> bool:
    """Tell C, unless it knows; did it not?"""
    if core in _told and _told[core] == value:
        return False
    _core.configure(**{core: value})
    _told[core] = value
    return True


_seen: Any = None  # the environment as it was when C was last told; None: tell it again


def _sync_environment() -> bool:
    """Tell C what has changed since the last time; has anything? C calls it (cache.c).

    Ahead of every compile: variables are parsed only where one has changed.
    """
    now = getattr(os.environ, "_data", None)  # a dict of bytes: no decoding
    return (now is None or now != _seen) and _sync()


def _sync() -> bool:
    """Tell C what is not as it knows it; was anything?"""
    global _seen
    now = getattr(os.environ, "_data", {}).copy()
    changed = [
        _configure(row.core, getattr(type(group), row.name).raw(group))
        for row in ROWS
        if row.core
        for group in (globals()[row.group],)
    ]
    _seen = now  # only here: what cannot be parsed raises again
    return any(changed)


def _connect() -> None:
    """Tell C which hooks there are: a launch without any asks nothing."""
    here = globals()
    if "runtime" not in here or "compilation" not in here:
        return
    launch = runtime.launch_enter_hook or runtime.launch_exit_hook
    load = runtime.kernel_load_start_hook or runtime.kernel_load_end_hook
    compile = (
        runtime.jit_cache_hook
        or runtime.jit_post_compile_hook
        or runtime.add_stages_inspection_hook
        or compilation.listener
    )
    unload = runtime.kernel_unload_hook
    if not launch and not compile and not load and not unload:
        _core.configure(
            launch_hook=None, compile_hook=None, load_hook=None, unload_hook=None
        )
        return
    from tegula.compat import hooks

    _core.configure(
        launch_hook=hooks.around_launch if launch else None,
        compile_hook=hooks.around_compile if compile else None,
        load_hook=hooks.around_load if load else None,
        unload_hook=hooks.around_unload if unload else None,
    )


class _Knobs(ModuleType):
    """This module: a group that is put in the place of another one counts at once."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, Group):
            _sync()
            _connect()


runtime = _make_group("runtime")
compilation = _make_group("compilation")
cache = _make_group("cache")
autotuning = _make_group("autotuning")
language = _make_group("language")
nvidia = _make_group("nvidia")
build = _make_group("build")
redis = _make_group("redis")
amd = _make_group("amd")
proton = _make_group("proton")
_sync()
sys.modules[__name__].__class__ = _Knobs

# Read by the build and by tests, and near to names of ours.
_OF_BUILDS = {"DEBUG", "SANITIZE", "SEED"}


def __getattr__(name: str) -> Any:
    from tegula.compat import knobs as others

    if name in ("NvidiaTool", "CompileTimes"):
        return getattr(others, name)
    if name in others.PROTOCOLS:  # for annotations
        return Callable[..., Any]
    from tegula.compat.later import find

    return find(__name__, name)


def _warn_of_misspelt() -> None:
    """A variable that is nearly one of ours does nothing, and says so once."""
    prefix = "TEGULA_"
    known = {row.variable.removeprefix(prefix) for row in ROWS}
    for name in os.environ:
        word = name.removeprefix(prefix)
        if word == name or word in known or word in _OF_BUILDS:
            continue
        import warnings

        from tegula.configs import did_you_mean

        meant = did_you_mean(word, known, prefix)
        if meant:
            text = f"{name} is no variable that tegula reads{meant}"
            warnings.warn(text, UserWarning, stacklevel=2)


def getenv(key: str) -> str | None:
    """An environment variable, or None."""
    return os.environ.get(key)


def refresh_knobs() -> None:
    """Tell C of changes in the environment now, and not ahead of the next compile."""
    _sync()


def describe() -> str:
    """The table as text: variable, value, meaning."""
    lines = []
    for row in ROWS:
        value = getattr(globals()[row.group], row.name)
        also = f" (also {row.triton})" if row.triton else ""
        lines.append(f"{row.variable}={'' if value is None else value}")
        lines.append(f"    knobs.{row.group}.{row.name}: {row.doc}{also}")
    return "\n".join(lines)


_warn_of_misspelt()
