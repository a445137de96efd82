"""Values of a kernel as Python shows them, and back.

A block is a NumPy array, a scalar a NumPy scalar; a pointer is an address that adds as
pointers do. bfloat16 and float8, which NumPy lacks, are float32. Without NumPy, blocks are
nested lists.
"""

from __future__ import annotations

import collections
import functools
import math
import struct
from collections.abc import Callable
from typing import Any

Leaf = tuple[str, tuple[int, ...], bytes]
"""Type, shape, elements in memory. The type as in tegula.language; *float32: a pointer."""

FORMATS = {"int1": "?", "float16": "e", "float32": "f", "float64": "d"}
FORMATS |= {f"int{8 << k}": "bhiq"[k] for k in range(4)}
FORMATS |= {f"uint{8 << k}": "BHIQ"[k] for k in range(4)}


def size_of(kind: str) -> int:
    """Bytes of an element in memory."""
    if kind.startswith("float8"):
        return 1
    return max(int(kind.lstrip("uintbfloa")) // 8, 1)


def format_of(kind: str) -> str:
    """Of struct and of NumPy."""
    return "<Q" if kind[0] == "*" else "<" + FORMATS.get(kind, "f")


class Word(str):
    """What is no tensor and no constant, in words."""

    def __repr__(self) -> str:
        return f"<{self}>"


class Pointer(int):
    """An address that knows what lies there. Adding counts elements."""

    kind: str

    def __new__(cls, address: int, kind: str) -> Pointer:
        self = super().__new__(cls, address)
        self.kind = kind
        return self

    def __add__(self, by: Any) -> Any:
        if getattr(by, "shape", ()):
            return _arrays().moved(int(self), by, "*" + self.kind)
        return Pointer(int(self) + int(by) * size_of(self.kind), self.kind)

    __radd__ = __add__

    def __sub__(self, by: Any) -> Any:
        if isinstance(by, Pointer):
            return (int(self) - int(by)) // size_of(self.kind)
        return self + -by

    def __repr__(self) -> str:
        return f"<pointer<{self.kind}> {int(self):#x}>"


@functools.cache
def _arrays() -> Any:
    """The module that needs NumPy; None without it."""
    try:
        from tegula import debug_arrays
    except ImportError:
        return None
    return debug_arrays


def show(leaf: Leaf) -> Any:
    """The Python object for what C read."""
    kind, shape, data = leaf
    how = format_of(kind)
    if kind[0] == "*" and not shape:
        (address,) = struct.unpack(how, data)
        return Pointer(address, kind[1:])
    arrays = _arrays()
    if arrays is not None:
        return arrays.block(data, how, shape, None if kind in FORMATS else kind)
    flat = list(struct.unpack(f"<{math.prod(shape)}{how[1:]}", data))
    for side in reversed(shape[1:]):
        flat = [flat[i : i + side] for i in range(0, len(flat), side)]
    return flat if shape else flat[0]


def to_bytes(leaf: Leaf, value: Any) -> bytes:
    """value as elements of the type and shape of leaf."""
    kind, shape, _ = leaf
    arrays = _arrays()
    if arrays is not None:
        data: bytes = arrays.to_bytes(format_of(kind), shape, value)
        return data
    if shape:
        raise TypeError("assigning a block needs NumPy")
    return struct.pack(format_of(kind), value)


def value_of(spec: Any, leaf: Callable[[int], Any]) -> Any:
    """The value that a mark describes: csrc/frontend/builtins/builtins_stop.c."""
    kind, what = spec[0], spec[1]
    if kind == "v":
        return leaf(what)
    if kind == "t":
        return tuple(value_of(s, leaf) for s in what)
    if kind == "o":
        fields = {n: value_of(s, leaf) for n, s in spec[2].items()}
        if what == "dict":
            return fields
        made: Any = collections.namedtuple(what, list(fields), rename=True)  # type: ignore[misc]
        return made(*fields.values())
    if kind == "x":
        return float(what)
    return Word(what) if kind == "n" else what
