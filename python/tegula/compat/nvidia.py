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
    """The options of a compile as one object, for ``compiler.compile(options=..)``, with
    Triton's names, order and defaults. None is what the target has."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] | None = None
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] | None = None
    default_dot_input_precision: str | None = None
    allowed_dot_input_precisions: tuple[str, ...] | None = None
    max_num_imprecise_acc_default: int | None = None
    extern_libs: dict[str, str] | None = None
    debug: bool = False
    backend_name: str = "cuda"
    sanitize_overflow: bool = True
    arch: str | None = None
    instrumentation_mode: str = ""

    def __post_init__(self) -> None:
        n = self.num_warps
        assert n > 0 and not n & (n - 1), f"num_warps must be a power of 2, not {n}"

    def hash(self) -> str:
        """A digest of all of them, libraries by what is in their files."""
        import hashlib

        def content(path: str) -> str:
            with open(path, "rb") as f:
                return hashlib.sha256(f.read()).hexdigest()

        given = dict(vars(self))
        libs = sorted(dict(self.extern_libs or {}).items())
        given["extern_libs"] = [(name, content(path)) for name, path in libs]
        text = "_".join(f"{name}-{value}" for name, value in sorted(given.items()))
        return hashlib.sha256(text.encode()).hexdigest()


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
