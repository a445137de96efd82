"""Blocks and pointers of a kernel as NumPy arrays: debug_values.py imports this where NumPy
is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from tegula.debug_values import size_of


class Answers(np.ndarray):
    """What != gives, for those who ask whether anything differs (pdb's display)."""

    def __bool__(self) -> bool:
        return bool(np.asarray(self).any())


class Block(np.ndarray):
    """An array that knows what the kernel calls its elements, where NumPy has no such type:
    bfloat16 and float8 are held as float32, pointers (``*float32``) as addresses. Adding to
    pointers counts elements."""

    kind: str | None = None

    def __array_finalize__(self, of: Any) -> None:
        if of is not None and self.dtype == of.dtype:
            self.kind = getattr(of, "kind", None)

    def __array_wrap__(self, array: Any, *args: Any) -> Any:
        """What is computed from it has a type of NumPy's."""
        out = np.asarray(array)
        return out if out.ndim else out[()]

    def __ne__(self, other: Any) -> Any:
        try:
            different = np.asarray(self) != np.asarray(other)
        except (TypeError, ValueError):
            return True
        return np.asarray(different).view(Answers)

    def __add__(self, other: Any) -> Any:
        if self.kind is None or self.kind[0] != "*":
            return np.asarray(self) + other
        return moved(self, other, self.kind)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if self.kind is None or self.kind[0] != "*":
            return np.asarray(self) - other
        if getattr(other, "kind", None) == self.kind:
            apart = np.asarray(self).astype(np.int64) - np.asarray(other, np.int64)
            return apart // size_of(self.kind[1:])
        return moved(self, -np.asarray(other, np.int64), self.kind)

    def __repr__(self) -> str:
        plain = np.asarray(self)
        if self.kind is None:
            return repr(plain)
        pointers = self.kind[0] == "*"
        text = np.array2string(
            plain,
            separator=", ",
            prefix="array(",
            formatter={"int": hex} if pointers else None,
        )
        name = f"pointer<{self.kind[1:]}>" if pointers else self.kind
        return f"array({text}, dtype={name})"


def moved(start: Any, by: Any, kind: str) -> Block:
    """Pointers, `by` elements from start."""
    steps = np.asarray(by).astype(np.int64) * size_of(kind[1:])
    at = np.asarray(start, np.uint64) + steps.astype(np.uint64)
    out: Block = np.asarray(at).view(Block)
    out.kind = kind
    return out


def block(data: bytes, how: str, shape: tuple[int, ...], kind: str | None) -> Any:
    array = np.frombuffer(data, how).copy()
    if not shape:
        return array[0]
    out: Any = array.reshape(shape).view(Block)
    out.kind = kind
    return out


def to_bytes(how: str, shape: tuple[int, ...], value: Any) -> bytes:
    out: Any = np.empty(shape, how)
    out[...] = np.asarray(value)
    data: bytes = out.tobytes()
    return data
