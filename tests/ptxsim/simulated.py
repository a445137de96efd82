"""A GPU without a GPU: tensors for build/libptxsim.so, which interprets PTX.

``start()`` makes the library tegula's driver, once a process. A device of it is an
architecture; ``put(array, "sm_80")`` is a tensor there whose memory is a NumPy array, and
``.numpy()`` is that array. Memory that is not put is no kernel's to touch.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tegula

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "build" / "libptxsim.so"
DEVICES = {"sm_80": 0, "sm_90a": 1, "sm_75": 2, "sm_89": 3, "sm_100a": 4, "sm_120a": 5}


@cache
def gpu() -> bool:
    """There is a driver of CUDA: then kernels run there, and nothing is simulated."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def available() -> bool:
    """The library is built, or can be, and nobody has opened another driver."""
    if gpu() or tegula.knobs.nvidia.libcuda not in (None, str(LIBRARY)):
        return False
    return LIBRARY.exists()


def start() -> ctypes.CDLL:
    """The library, as tegula's driver from now on."""
    tegula.knobs.nvidia.libcuda = str(LIBRARY)
    return library()


@cache
def library() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(LIBRARY))
    lib.ptxsim_register.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.ptxsim_unregister.argtypes = [ctypes.c_void_p]
    lib.ptxsim_error.restype = ctypes.c_char_p
    return lib


class Tensor:
    """As much of torch.Tensor as a launch asks for."""

    def __init__(self, array: np.ndarray, target: str, of: Tensor | None = None):
        self.lib = start()
        self.array = array
        self.of = of  # whose memory it is
        self.target = target
        self.dtype = str(array.dtype)
        self.device = f"cuda:{DEVICES[target]}"
        self.shape = array.shape
        self.base = array.ctypes.data if array.nbytes and not of else None
        if self.base:
            assert array.flags.c_contiguous
            assert self.lib.ptxsim_register(self.base, array.nbytes)

    def __del__(self) -> None:
        if getattr(self, "base", None):
            self.lib.ptxsim_unregister(self.base)

    def __getitem__(self, at: Any) -> Tensor:
        return Tensor(self.array[at], self.target, self.of or self)

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self, dim: int | None = None) -> Any:
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]

    def dim(self) -> int:
        return self.array.ndim

    def numpy(self) -> np.ndarray:
        return self.array


def put(x: np.ndarray, target: str) -> Tensor:
    """A copy of x as device memory, aligned as cudaMalloc does it."""
    x = np.ascontiguousarray(x)
    room = np.empty(x.nbytes + 256, np.uint8)
    at = -room.ctypes.data % 256
    there = room[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
    there[...] = x
    return Tensor(there, target)
