"""What Triton keeps for CUDA alone."""

from __future__ import annotations

from typing import Any

from tegula.jit import jit

from ... import core as tl
from ...builtin import builtin, outside
from .. import libdevice as libdevice


@builtin
def num_warps() -> int:
    """Warps of a program.

    Types:  a constant int.
    Errors: none.

    >>> tl.extra.cuda.num_warps()
    int32: 4
    """
    return outside()


@builtin
def num_threads() -> int:
    """Threads of a program.

    Types:  a constant int.
    Errors: none.

    >>> tl.extra.cuda.num_threads()
    int32: 128
    """
    return outside()


@builtin
def gdc_wait() -> None:
    """Wait until the kernels before this one, of a programmatic dependent launch, are done.

    Targets: GPUs from sm_90 on; nothing elsewhere, where kernels run one after another.
    """
    return outside()


@builtin
def gdc_launch_dependents() -> None:
    """Let the next kernel of a programmatic dependent launch start.

    Targets: GPUs from sm_90 on; nothing elsewhere.
    """
    return outside()


@builtin
def globaltimer() -> Any:
    """A clock in nanoseconds, an int64: the GPU's, or the host's.

    >>> tl.extra.cuda.globaltimer() > 0
    int1: 1
    """
    return outside()


@builtin
def smid() -> Any:
    """The multiprocessor this program runs on, an int32; the CPU's number on CPUs.

    >>> tl.extra.cuda.smid() >= 0
    int1: 1
    """
    return outside()


@jit
def convert_custom_float8_sm80(
    arg, dst_ty: tl.constexpr, fp_downcast_rounding: tl.constexpr = None
) -> Any:
    """A block from or to ``tl.float8e4b15``: what ``arg.to(dst_ty)`` does as well.

    Types:  one of the two is float8e4b15, the other float16 or float32.
    Errors: CompileError[TYPE] for other types.

    >>> x = (tl.arange(0, 2) * 1.5).to(tl.float16)
    >>> f8 = tl.extra.cuda.convert_custom_float8_sm80(x, tl.float8e4b15)
    >>> tl.extra.cuda.convert_custom_float8_sm80(f8, tl.float32)
    float32[2]: [0, 1.5]
    """
    tl.static_assert(
        arg.dtype.is_fp8e4b15() or dst_ty.is_fp8e4b15(),
        "one of the types is float8e4b15",
    )
    return arg.to(dst_ty, fp_downcast_rounding)


@jit
def convert_custom_float8_sm70(
    arg, dst_ty: tl.constexpr, fp_downcast_rounding: tl.constexpr = None
) -> Any:
    """``convert_custom_float8_sm80``: a GPU's age makes no difference here.

    Types:  as there.
    Errors: as there.

    >>> x = (tl.arange(0, 2) * 1.5).to(tl.float16)
    >>> tl.extra.cuda.convert_custom_float8_sm70(x, tl.float8e4b15).to(tl.float16)
    float16[2]: [0, 1.5]
    """
    return convert_custom_float8_sm80(arg, dst_ty, fp_downcast_rounding)
