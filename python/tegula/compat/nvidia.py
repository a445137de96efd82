"""``triton.backends.nvidia``: the few names that libraries look up there."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass
from types import ModuleType

from tegula import knobs
from tegula.backends import BaseBackend as CUDABackend
from tegula.driver import CudaDriver as CudaDriver
from tegula.driver import CudaUtils as CudaUtils

__path__: list[str] = []
__all__ = [
    "CUDABackend",
    "CUDAOptions",
    "CudaDriver",
    "CudaUtils",
    "libcuda_dirs",
    "library_dirs",
]


@dataclass(frozen=True)
class CUDAOptions:
    """The options of a compile as one object, for ``compiler.compile(options=..)``: those
    of Triton's that mean something here, with its defaults."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    extern_libs: dict[str, str] | None = None
    debug: bool = False
    sanitize_overflow: bool = True
    arch: str | None = None

    def __post_init__(self) -> None:
        if self.num_warps <= 0 or self.num_warps & (self.num_warps - 1):
            raise ValueError(f"num_warps must be a power of 2, not {self.num_warps}")


@functools.cache
def libcuda_dirs() -> list[str]:
    """The directories where CUDA's driver library is."""
    if knobs.nvidia.libcuda:
        return [os.path.dirname(knobs.nvidia.libcuda)]
    places = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    places += ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"]
    return [p for p in places if p and os.path.exists(os.path.join(p, "libcuda.so.1"))]


def library_dirs() -> list[str]:
    """The same: nothing else of CUDA is linked to."""
    return libcuda_dirs()


def __getattr__(name: str) -> ModuleType:
    if name in ("compiler", "driver"):  # Triton's two modules, of which this is both
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
