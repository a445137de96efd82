"""``triton.backends.nvidia``: the few names that libraries look up there."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tegula import knobs, toolchain
from tegula.compat.backends import BaseBackend as BaseBackend
from tegula.compat.backends import BaseBackend as CUDABackend
from tegula.compat.backends import CUDAOptions as CUDAOptions
from tegula.compat.backends import GPUTarget as GPUTarget
from tegula.compat.backends import Language as Language
from tegula.compat.driver import CudaDriver as CudaDriver
from tegula.compat.driver import CudaUtils as CudaUtils
from tegula.compat.driver import GPUDriver as GPUDriver
from tegula.compat.driver import Launcher as CudaLauncher
from tegula.compat.driver import PyCUtensorMap as PyCUtensorMap
from tegula.errors import PTXASError as PTXASError
from tegula.runtime.build import compile_module_from_src as compile_module_from_src

__path__: list[str] = []
__all__ = [
    "BaseBackend",
    "CUDABackend",
    "CUDAOptions",
    "CudaDriver",
    "CudaLauncher",
    "CudaUtils",
    "GPUDriver",
    "GPUTarget",
    "Language",
    "PTXASError",
    "PyCUtensorMap",
    "compile_module_from_src",
    "file_hash",
    "get_ptxas",
    "get_ptxas_version",
    "libcuda_dirs",
    "library_dirs",
    "min_dot_size",
    "ptx_get_version",
    "sm_arch_from_capability",
    "ty_to_cpp",
]

# The driver's enum of types for tensor maps, by the one that instructions have.
TMA_DTYPE_DEVICE_TO_HOST = {i: i for i in range(16)} | {8: 10, 9: 8, 10: 9}


@functools.cache
def libcuda_dirs() -> list[str]:
    """The directories where CUDA's driver library is."""
    if knobs.nvidia.libcuda:
        return [os.path.dirname(knobs.nvidia.libcuda)]
    places = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    places += ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"]
    return [p for p in places if p and os.path.exists(os.path.join(p, "libcuda.so.1"))]


@functools.cache
def _include_dirs() -> list[str]:
    wheel = toolchain.in_wheels("include/cuda.h")
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    folders = [f"{home}/include" for home in homes if home]
    folders += [os.path.dirname(wheel)] if wheel else []
    folders += ["/usr/local/cuda/include", "/usr/include"]
    return [p for p in folders if os.path.exists(os.path.join(p, "cuda.h"))]


def library_dirs() -> list[str]:
    """The same: nothing else of CUDA is linked to."""
    return libcuda_dirs()


def min_dot_size(target: GPUTarget) -> Callable[[Any, Any], tuple[int, int, int]]:
    """The smallest M, N and K of a dot, by the types of its operands."""

    def smallest(lhs_type: Any, rhs_type: Any) -> tuple[int, int, int]:
        bits = lhs_type.scalar.primitive_bitwidth
        assert bits == rhs_type.scalar.primitive_bitwidth, (
            "lhs and rhs bitwidth must be the same"
        )
        return (1, 1, 32) if bits == 8 else (1, 1, 16)

    return smallest


def get_ptxas(arch: int = 80) -> Any:
    """The assembler for sm_arch: a path with its version; None: there is none."""
    return knobs.nvidia.ptxas_blackwell if arch >= 100 else knobs.nvidia.ptxas


def get_ptxas_version(arch: int = 80) -> str:
    """What it says of itself."""
    if knobs.nvidia.mock_ptx_version is not None:
        return str(knobs.nvidia.mock_ptx_version)
    ptxas = get_ptxas(arch)
    if ptxas is None:
        raise RuntimeError("there is no ptxas: set TEGULA_PTXAS")
    return subprocess.check_output([ptxas.path, "--version"], text=True)


def ptx_get_version(cuda_version: str) -> int:
    """The version of PTX that came with a CUDA: 84 for "12.4"."""
    major, minor = map(int, cuda_version.split("."))
    if major >= 13:
        return 90 + (major - 13) * 10 + minor
    if major == 12:
        return 80 + (minor if minor < 6 else minor - 1)
    if major in (10, 11):
        return {10: 63, 11: 70}[major] + minor
    raise RuntimeError(f"CUDA 10.0 or newer is needed, not {cuda_version}")


def sm_arch_from_capability(capability: int) -> str:
    """90 is "sm_90a": what is new in an architecture hides behind the "a"."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


@functools.cache
def file_hash(path: str) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def ty_to_cpp(ty: str) -> str:
    """The C type of a kernel's parameter."""
    if ty.startswith("*"):
        return "CUdeviceptr"
    if ty.startswith("tensordesc"):
        return "CUtensorMap"
    return CudaDriver.map_python_to_cpp_type(CudaDriver.__new__(CudaDriver), ty)


def __getattr__(name: str) -> ModuleType | list[str]:
    if name == "include_dirs":  # where cuda.h is
        return _include_dirs()
    if name in ("compiler", "driver"):  # Triton's two modules, of which this is both
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
