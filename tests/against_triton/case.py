"""A case: a few lines of a kernel, what they are given, and nothing of who runs them.

    Case("binary/+/int8.float16", (edges("a", "int8"), edges("b", "float16", True)),
         "x = tl.load(a + I)\\ny = tl.load(b + I)\\nput(x + y)")

`I` is tl.arange(0, N); each put() is a result, whose type, shape and bits are kept.
Inputs are made from what the case says of them and from nothing else, so two processes
that never meet give their kernels the same bytes.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import element_types
from element_types import FLOATS, FORMATS, INTS, UINTS, is_float, storage, table

N = 256  # elements of an ordinary input

FP8 = ("float8e4nv", "float8e5")
ALL = ("int1", *INTS, *FLOATS, *FP8)

# Names as str(dtype) has them in kernels; the place in this list is a type's number.
KERNEL_NAMES = dict(zip(ALL, ALL, strict=True)) | {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
}


def width(dtype: str) -> int:
    """Bits of an element as a value; int1 is one."""
    return 1 if dtype == "int1" else 8 * storage(dtype).itemsize


@dataclass(frozen=True)
class Array:
    """A pointer argument.

    kind: edge     the odd values of its type, each repeated; 16 of them in 256 elements
          cross    the same, the whole row again and again: edge x cross is every pair
          shift    0 .. arg - 1
          divisor  edges without 0 and -1
          finite   random, in the range of all integers that arg names
          whole    small whole numbers, arg the largest
          all      every bit pattern of 8 or 16 bits, a random choice of wider ones
      normal   the same, without subnormal bfloat16, float32 and float64;
               edge and cross have no subnormal float32 where arg is "normal"
          unit     random in (0, 1); positive, in (0, 100); for functions that want it
          perm     0 .. n - 1 in another order
          zero     zeros, to be written; what is there afterwards is a result too
    """

    name: str
    dtype: str
    kind: str = "edge"
    n: int = N
    arg: int | str = 0


@dataclass(frozen=True)
class Descriptor(Array):
    """The same memory as a host's TensorDescriptor, of rows one after another."""

    shape: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    pad: str = "zero"


@dataclass(frozen=True)
class Scalar:
    """An argument that is a Python number."""

    name: str
    value: int | float | bool


@dataclass(frozen=True)
class Constant:
    """A constexpr argument."""

    name: str
    value: int | float | bool | str


Arg = Array | Scalar | Constant


@dataclass
class Case:
    name: str
    args: tuple[Arg, ...]
    body: str
    room: int = 2048  # bytes of a result, at most
    ulp: int = 0  # last places that a result may be off
    warps: int = 4
    grid: int = 1  # programs
    rows: int = 1  # of them; the grid's second side
    helpers: str = ""  # functions that it calls besides prelude.py
    options: dict[str, Any] = field(default_factory=dict)
    given: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # inputs that no kind says
    near: tuple[str, ...] = ()  # arrays that are compared with a tolerance

    @property
    def slots(self) -> int:
        return self.body.count("put(")

    def elements(self, a: Array) -> np.ndarray:
        return self.given[a.name] if a.name in self.given else elements(a)


def encode(x: np.ndarray, dtype: str) -> np.ndarray:
    """Values to storage form: to the nearest, even in a tie; float8e4nv saturates."""
    return element_types.encode(x, dtype, infinite=True)


def decode(x: np.ndarray, dtype: str) -> np.ndarray:
    return table(dtype)[x] if dtype in FORMATS else x


def odd_values(dtype: str) -> np.ndarray:
    """16 of them."""
    if dtype == "int1":
        return np.array([0, 1] * 8, bool)
    if is_float(dtype):
        wide = "float32" if dtype in FORMATS else dtype
        info = np.finfo(wide)
        big, small, least = (
            float(info.max),
            float(info.tiny),
            float(info.smallest_subnormal),
        )
        if dtype in FORMATS:
            known = table(dtype)
            finite = np.abs(known[np.isfinite(known)])
            big, small = finite.max(), 2.0 ** (1 - FORMATS[dtype][2])
            least = finite[finite > 0].min()
        x = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 3.0, big, -big]
        x += [small, -least, 5.75, -113.0]
        return encode(np.array(x), dtype)
    info = np.iinfo(dtype)
    half, top = info.max // 2, info.max
    if info.min:
        x = [info.min, info.min + 1, -top // 3, -7, -2, -1, 0, 1, 2, 3, 7, 100, half]
        x += [top - 1, top, 77]
    else:
        x = [0, 1, 2, 3, 5, 7, 100, 77, top // 3, half - 1, half, half + 1, half + 2]
        x += [top - 2, top - 1, top]
    return np.array(x, dtype)


def elements(a: Array) -> np.ndarray:
    """What memory holds, in storage form."""
    rng = np.random.default_rng(
        zlib.crc32(f"{a.dtype} {a.kind} {a.n} {a.arg}".encode())
    )
    t = storage(a.dtype)
    if a.kind == "zero":
        return np.zeros(a.n, t)
    if a.kind in ("edge", "cross"):
        odd = odd_values(a.dtype)
        if a.arg == "normal" and a.dtype == "float32":
            odd[np.abs(odd) < np.finfo(t).tiny] = 0
        return np.resize(odd if a.kind == "cross" else np.repeat(odd, 16), a.n)
    if a.kind == "divisor":
        x = odd_values(a.dtype)
        if a.dtype == "int1":
            return np.ones(a.n, bool)
        if not is_float(a.dtype):
            x = (
                x[(x != 0) & (x != np.array(-1).astype(t))]
                if "u" not in a.dtype
                else x[x != 0]
            )
        return np.resize(x, a.n)
    if a.kind == "shift":
        return encode(np.resize(np.arange(int(a.arg)), a.n), a.dtype)
    if a.kind == "perm":
        return rng.permutation(a.n).astype(t)
    if a.kind in ("all", "normal"):
        if t.itemsize == 1 and a.dtype != "int1":
            return np.resize(np.arange(256, dtype=np.uint8), a.n).view(t)
        if a.dtype == "int1":
            return rng.integers(0, 2, a.n).astype(bool)
        raw = rng.integers(0, 256, a.n * t.itemsize, dtype=np.uint8).view(t)
        raw[: len(odd_values(a.dtype))] = odd_values(a.dtype)[: a.n]
        if a.kind == "normal" and a.dtype in ("float32", "float64"):
            raw[np.abs(raw) < np.finfo(t).tiny] = 0
        if a.kind == "normal" and a.dtype == "bfloat16":
            raw[raw & 0x7F80 == 0] = 0
        return raw
    if a.dtype == "int1":
        return rng.integers(0, 2, a.n).astype(bool)
    if a.kind == "whole":
        low = 0 if a.dtype in UINTS else -int(a.arg)
        return encode(
            rng.integers(low, int(a.arg), a.n, endpoint=True).astype("f8"), a.dtype
        )
    if a.kind == "unit":
        return encode(rng.uniform(0.01, 0.99, a.n), a.dtype)
    if a.kind == "positive":
        return encode(rng.uniform(0.01, 100, a.n), a.dtype)
    assert a.kind == "finite", a.kind
    # As many powers of two as the narrower of both types has, both signs where it may be.
    to = str(a.arg)
    if not is_float(a.dtype):
        return rng.integers(
            np.iinfo(a.dtype).min, np.iinfo(a.dtype).max, a.n, dtype=t, endpoint=True
        )
    top = 3.0 if to == "int1" else float(np.iinfo(to).max)
    low = 0.0 if to in UINTS or to == "int1" else -top
    x = np.exp2(
        rng.uniform(-3, np.log2(min(top, 3e4 if width(a.dtype) == 16 else top)), a.n)
    )
    x = np.where(rng.integers(0, 2, a.n) == 1, x, np.maximum(-x, low))
    x[:8] = [0.0, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 2.75]
    if dtype_top(a.dtype) < top:
        x = x.clip(-dtype_top(a.dtype), dtype_top(a.dtype))
    y = encode(x * 0.99, a.dtype)
    return y


def dtype_top(dtype: str) -> float:
    if dtype in FORMATS:
        known = table(dtype)
        return float(np.max(known[np.isfinite(known)]))
    return float(np.finfo(dtype).max)


def array(
    name: str, dtype: str, kind: str = "edge", n: int = N, arg: int | str = 0
) -> Array:
    return Array(name, dtype, kind, n, arg)
