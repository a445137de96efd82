"""Producers of DLPack capsules, of our own making: any device, version and flag."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

READ_ONLY, COPIED = 1, 2
CPU, CUDA = 1, 2
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, Destructor]


class Producer:
    """An array as another library would hand it out. Subclasses have __dlpack__."""

    def __init__(
        self,
        array: np.ndarray,
        device: tuple[int, int] = (CPU, 0),
        flags: int = 0,
        major: int = 1,
        address: int | None = None,
    ) -> None:
        self.array, self.device, self.flags, self.major = array, device, flags, major
        self.address = array.ctypes.data if address is None else address
        self.asked: list[Any] = []  # what __dlpack__ was called with
        self.n_alive = 0  # capsules that have not gone
        self.kept: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def capsule(
        self,
        versioned: bool = False,
        destroyed: Callable[[], None] | None = None,
        lie: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """A new one. lie: fields of DLTensor as they are not."""
        a = self.array
        sides = ctypes.c_int64 * max(a.ndim, 1)
        shape = sides(*a.shape)
        strides = sides(*(s // a.itemsize for s in a.strides))
        tensor = DLTensor(
            self.address,
            *self.device,
            a.ndim,
            CODES[a.dtype.kind],
            8 * a.itemsize,
            1,
            shape,
            strides,
            0,
        )
        for field, value in lie.items():
            sides_of = field in ("shape", "strides") and value is not None
            setattr(tensor, field, sides(*value) if sides_of else value)
            self.kept.append(value)
        managed = (
            ManagedVersioned(self.major, 0, None, None, self.flags, tensor)
            if versioned
            else Managed(tensor, None, None)
        )

        def gone(_: int) -> None:
            self.n_alive -= 1
            if destroyed:
                destroyed()

        self.n_alive += 1
        destructor = Destructor(gone)
        self.kept += [shape, strides, managed, destructor]
        name = b"dltensor_versioned" if versioned else b"dltensor"
        return new_capsule(ctypes.addressof(managed), name, destructor)
