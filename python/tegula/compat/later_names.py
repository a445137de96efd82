"""Names that Triton's modules have in 3.9, beside what ours are made of: what they are.

``later.py`` says in which module each of them is found.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypedDict, TypeVar

from tegula.language.builtin import builtin, outside

# --- jit ------------------------------------------------------------------------------
TRITON_MODULE = "triton.language"
GLUON_MODULE = "triton.experimental.gluon.language"
INDENT_PATTERN = re.compile(r"^([ \t]*)def[ \t]+\w+[ \t]*\(", re.MULTILINE)


def get_def_line_number(raw_src: list[str], starting_line_number: int) -> int:
    """The line of ``def``, where a source with its decorators begins at a line."""
    for i, line in enumerate(raw_src):
        if line.lstrip().startswith("def "):
            return starting_line_number + i
    return starting_line_number


def get_def_col_number(raw_src_str: str) -> int:
    """The column of ``def``, from 1."""
    match = INDENT_PATTERN.search(raw_src_str)
    if not match:
        raise ValueError("no function is defined here")
    return len(match[1]) + 1


def convert_to_tuple_if_list(item: Any) -> Any:
    """Lists, and lists in them, as tuples."""
    if not isinstance(item, list):
        return item
    return tuple(convert_to_tuple_if_list(x) for x in item)


def compute_cache_key(
    kernel_key_cache: dict[Any, str], specialization: Any, options: Any
) -> str:
    """The text that stands for a specialization and options, remembered in a dict."""
    key = (tuple(specialization), str(options))
    if key not in kernel_key_cache:
        kernel_key_cache[key] = f"{list(specialization)}{options}"
    return kernel_key_cache[key]


def create_function_from_signature(
    sig: inspect.Signature, kparams: Any, backend: Any
) -> Callable[..., tuple[dict[str, Any], list[Any], dict[str, Any]]]:
    """f(*args, **kwargs) -> arguments by name, their specializations, the options."""
    from tegula.compat.backends import BaseBackend
    from tegula.signatures import native_specialize_impl

    backend = backend or BaseBackend

    def bind(*args: Any, **kwargs: Any) -> Any:
        own = {k: v for k, v in kwargs.items() if k in sig.parameters}
        options = {k: v for k, v in kwargs.items() if k not in sig.parameters}
        bound = sig.bind(*args, **own)
        bound.apply_defaults()
        special = [
            ("constexpr", x)
            if p.is_constexpr
            else native_specialize_impl(
                backend,
                x,
                p.is_const,
                not p.do_not_specialize,
                not p.do_not_specialize_on_alignment,
            )
            for p, x in zip(kparams, bound.arguments.values(), strict=True)
        ]
        return dict(bound.arguments), special, options

    return bind


class BoundConstexprFunction:
    """A function of constants, found on an instance: the instance goes first."""

    def __init__(self, instance: Any, fn: Any) -> None:
        self.__self__ = instance
        self.__func__ = fn

    @property
    def cache_key(self) -> str:
        return str(self.__func__.cache_key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)


def get_cache_invalidating_env_vars() -> dict[str, str]:
    """Variables that are set and change what is compiled."""
    names = (
        *("TEGULA_FP_FUSION", "TRITON_DEFAULT_FP_FUSION"),
        *("TEGULA_FORCE_DISABLE_FP_FUSION", "TRITON_FORCE_DISABLE_FP_FUSION"),
        *("TEGULA_F32_DEFAULT", "TRITON_F32_DEFAULT"),
        *("TEGULA_PTXAS_OPTIONS", "PTXAS_OPTIONS"),
        *("TEGULA_DISABLE_PTXAS_OPT", "DISABLE_PTXAS_OPT"),
    )
    return {name: os.environ[name] for name in names if name in os.environ}


# --- compiler -------------------------------------------------------------------------
ptx_prototype_pattern = r"\.(?:visible|extern)\s+\.(?:entry|func)\s+(\w+)\s*\(([^)]*)\)"
ptx_arg_type_pattern = r"\.param\s+\.(\w+)"
prototype_pattern = {"ptx": ptx_prototype_pattern}
arg_type_pattern = {"ptx": ptx_arg_type_pattern}


class AsmDict(dict[str, Any]):
    """Stages by name; ``sass`` is made of ``cubin`` when it is asked for."""

    def __missing__(self, key: str) -> Any:
        if key != "sass":
            raise KeyError(f"there is no stage {key!r}")
        from tegula.tools.disasm import get_sass

        self[key] = get_sass(self["cubin"])
        return self[key]


class CompileTimer:
    """Clocks the parts of a compile; ``end()`` gives what ``compilation.listener`` gets."""

    def __init__(self) -> None:
        self.start = time.time()
        self.ir_initialization_end: float | None = None
        self.lowering_stage_ends: list[tuple[str, float]] = []
        self.store_results_end: float | None = None

    def finished_ir_initialization(self) -> None:
        self.ir_initialization_end = time.time()

    def stage_finished(self, stage_name: str) -> None:
        self.lowering_stage_ends.append((stage_name, time.time()))

    def end(self) -> Any:
        from .knobs import CompileTimes

        now = self.store_results_end = time.time()
        at = self.ir_initialization_end or now
        first, stages = at, []
        for name, end in self.lowering_stage_ends:
            stages.append((name, int((end - at) * 1e6)))
            at = end
        return CompileTimes(
            int((first - self.start) * 1e6), stages, int((now - at) * 1e6)
        )


def convert_type_repr(x: str) -> str:
    """MLIR's type of a parameter as a signature has it: ``!tt.ptr<f32>`` is ``*f32``."""
    if "tt.nv_tma_desc = 1" in x:
        return "nvTmaDesc"
    match = re.search(r"!tt\.ptr<([^,]+)", x)
    return f"*{convert_type_repr(match[1])}" if match else re.sub(r" {[^}]+}", "", x)


def filter_traceback(e: BaseException) -> None:
    """Leave out of e's traceback, and of what caused it, the frames of the compiler."""
    from tegula import knobs

    if knobs.compilation.front_end_debugging:
        return
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    for other in (e.__cause__, e.__context__):
        if other is not None:
            filter_traceback(other)
    tb, chain = e.__traceback__, []
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(package):
            chain.append(tb)
        tb = tb.tb_next
    for a, b in zip(chain, [*chain[1:], None], strict=True):
        a.tb_next = b
    e.__traceback__ = chain[0] if chain else None


def parse(full_name: str, ext: str, context: Any = None) -> str | bytes:
    """The file of a stage: text, or the bytes of a binary."""
    if ext in ("ttir", "ttgir", "glir"):
        raise ValueError(f".{ext} is MLIR, of which there is none here: .tir and .simt")
    with open(full_name, "rb") as file:
        data = file.read()
    return data if ext in ("cubin", "hsaco", "obj") else data.decode()


# --- the language ---------------------------------------------------------------------
TRITON_BUILTIN = "__tegula_builtin__"
CAT_CAN_REORDER_WARNING = "tl.cat(can_reorder=True) is deprecated: leave it out"
RESHAPE_CAN_REORDER_WARNING = "tl.reshape(can_reorder=True) is deprecated: leave it out"


def is_builtin(fn: Any) -> bool:
    """Is its body in the compiler?"""
    return hasattr(fn, TRITON_BUILTIN)


def is_negative_zero(x: float) -> bool:
    return x == 0 and str(float(x))[0] == "-"


@builtin
def binary_op_type_legalization(lhs: Any, rhs: Any, semantic: Any = None) -> Any:
    """In a kernel: both operands, of one type and shape, as ``lhs + rhs`` takes them.
    semantic is what the wrapper that calls it hands on, and not looked at."""
    return outside()


def check_bit_width(value: Any, shift_value: Any) -> None:
    """Warns of a shift by a constant that moves all bits out."""
    bits = value.dtype.primitive_bitwidth
    by = getattr(shift_value, "value", shift_value)
    if isinstance(by, int) and by >= bits:
        warnings.warn(
            f"a shift by {by} of {bits} bits moves all of them out", stacklevel=2
        )


@functools.cache
def slice_type_class() -> type:
    from tegula.language.types import dtype

    class slice_type(dtype):
        """The type of ``tl.slice(..)``."""

        def __init__(self) -> None:
            self.name = "slice_type"

    return slice_type


# --- knobs ----------------------------------------------------------------------------
SetType = TypeVar("SetType")
GetType = TypeVar("GetType")
knobs_type = TypeVar("knobs_type")
KernelAttr = list[str | int]
BuildImpl = Callable[[str, str, str, list[str], list[str], list[str]], str]
FP_FUSION_DEFAULT_WARNING = (
    "a * b + c is rounded once where TRITON_DEFAULT_FP_FUSION is not set; Triton 3.10 will "
    "round twice: set it to 1 or 0"
)


class JITHookCompileInfo(TypedDict):
    """What a hook of ``runtime.jit_cache_hook`` gets as ``compile``."""

    key: str
    signature: dict[Any, str]
    device: int
    constants: Any
    num_warps: int
    num_ctas: int
    num_stages: int
    enable_fp_fusion: bool
    launch_cooperative_grid: bool
    extern_libs: Any
    configs: list[Any]
    specialization_data: str
    is_warmup: bool


def toenv(val: Any) -> tuple[str | None] | None:
    """What an environment variable says for a value: None where it can say nothing."""
    if val is None:
        return (None,)
    if isinstance(val, bool):
        return ("1" if val else "0",)
    return (str(val),) if isinstance(val, str | int) else None


def getenv_bool(key: str, default: bool) -> bool:
    """An environment variable as a truth value."""
    text = os.environ.get(key)
    return default if text is None else text.lower() in ("1", "true", "y", "yes", "on")


# --- testing, drivers, profiles ---------------------------------------------------------
def cublas() -> Any:
    """cuBLAS by way of torch, on its current device."""
    from .libtriton import CublasLt

    return CublasLt(None)


@contextmanager
def cuda_graph_without_gc(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """``torch.cuda.graph(..)``; a kernel that is collected would end the capture."""
    import torch

    was_on = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if was_on:
            gc.enable()


class DriverConfig:
    """``triton.runtime.driver``: the machine that kernels are compiled for."""

    @property
    def default(self) -> Any:
        return importlib.import_module("tegula.compat.driver").default

    @property
    def active(self) -> Any:
        return importlib.import_module("tegula.compat.driver").active

    def set_active(self, driver: Any) -> None:
        importlib.import_module("tegula.compat.driver").set_active(driver)

    def reset_active(self) -> None:
        importlib.import_module("tegula.compat.driver").reset_active()


def configure_runtime() -> None:
    """Of AMD's run time, which is not used: nothing to do."""


def metadata_state(kernel_name: str | None = None) -> Any:
    """The time spent on looking at launches, of one kernel or of all, as a scope of
    profiles."""
    from tegula.profiler import state

    return state(f"metadata:{kernel_name}" if kernel_name else "metadata")
