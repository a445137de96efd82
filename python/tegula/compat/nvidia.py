"""``triton.backends.nvidia``: the few names that libraries look up there."""

from __future__ import annotations

import functools
import os

from tegula import knobs
from tegula.backends import BaseBackend as CUDABackend
from tegula.driver import CudaDriver as CudaDriver
from tegula.driver import CudaUtils as CudaUtils

__path__: list[str] = []
__all__ = ["CUDABackend", "CudaDriver", "CudaUtils", "libcuda_dirs", "library_dirs"]


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
