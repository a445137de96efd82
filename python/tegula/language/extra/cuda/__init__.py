"""What Triton keeps for CUDA alone."""

from __future__ import annotations

from typing import Any

from ...builtin import builtin, outside
from .. import libdevice as libdevice


@builtin
def num_warps(_semantic: Any = None) -> int:
    """Warps of a program.

    Types:  a constant int.
    Errors: none.

    >>> tl.extra.cuda.num_warps()
    int32: 4
    """
    return outside()


@builtin
def num_threads(_semantic: Any = None) -> int:
    """Threads of a program.

    Types:  a constant int.
    Errors: none.

    >>> tl.extra.cuda.num_threads()
    int32: 128
    """
    return outside()


@builtin
def gdc_wait(_semantic: Any = None) -> None:
    """Wait until the kernels before this one, of a programmatic dependent launch, are done.

    Targets: GPUs from sm_90 on; nothing elsewhere, where kernels run one after another.
    """
    return outside()


@builtin
def gdc_launch_dependents(_semantic: Any = None) -> None:
    """Let the next kernel of a programmatic dependent launch start.

    Targets: GPUs from sm_90 on; nothing elsewhere.
    """
    return outside()


@builtin
def globaltimer(_semantic: Any = None) -> Any:
    """A clock in nanoseconds, an int64: the GPU's, or the host's.

    >>> tl.extra.cuda.globaltimer() > 0
    int1: 1
    """
    return outside()


@builtin
def smid(_semantic: Any = None) -> Any:
    """The multiprocessor this program runs on, an int32; the CPU's number on CPUs.

    >>> tl.extra.cuda.smid() >= 0
    int1: 1
    """
    return outside()
