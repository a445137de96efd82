"""Arithmetic, comparisons, selection and functions on every element type.

Integers wrap and are exact; +, -, * and fma of floats are correctly rounded; quotients and
functions are within the stated units of the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from element_types import FLOATS, FORMATS, INTS, SINTS, encode, is_float, storage
from suite import (
    ALL,
    EPS,
    Arg,
    Machine,
    close,
    decode,
    index,
    numbers,
    result,
    same_bits,
)

SHAPES = ((128,), (4, 32), (2, 4, 8), (1,), (512,), (64, 1), (3, 5), (100,))


class Row(NamedTuple):
    """z is `text` of x and y, blocks of one type."""

    name: str
    text: str
    want: Callable  # of values: float64 or integers
    dtypes: tuple[str, ...]
    out: Callable[[str], str] = lambda t: t
    ulp: float = 0  # 0: to the bit
    kind: str = "any"  # of values: see operands()


def wide(t: str) -> str:
    """What a bfloat16 becomes where the language asks for more."""
    return "float32" if t == "bfloat16" else t


def wide16(t: str) -> str:
    return "float32" if t in ("float16", "bfloat16") else t


def as_bool(_: str) -> str:
    return "int1"


def as_f32(_: str) -> str:
    return "float32"


def truncated(x: Any, y: Any) -> Any:
    """C's quotient of integers."""
    q = np.abs(x.astype(object)) // np.abs(y.astype(object))
    return np.where((x < 0) != (y < 0), -q, q)


def remainder(x: Any, y: Any) -> Any:
    return x.astype(object) - truncated(x, y) * y.astype(object)


def high(x: Any, y: Any) -> Any:
    return (x.astype(object) * y.astype(object)) >> (8 * x.dtype.itemsize)


def fmin(x: Any, y: Any) -> Any:
    return np.fmin(x, y) if x.dtype.kind == "f" else np.minimum(x, y)


def fmax(x: Any, y: Any) -> Any:
    return np.fmax(x, y) if x.dtype.kind == "f" else np.maximum(x, y)


erf = np.vectorize(math.erf, otypes=[np.float64])
NUMBERS = INTS + FLOATS
F64S = ("float32", "float64")

ROWS = [
    Row("add", "x + y", lambda x, y: x + y, NUMBERS),
    Row("sub", "x - y", lambda x, y: x - y, NUMBERS),
    Row("mul", "x * y", lambda x, y: x * y, NUMBERS),
    Row("add of int1", "x + y", lambda x, y: x ^ y, ("int1",)),
    Row("tl.add", "tl.add(x, y)", lambda x, y: x + y, NUMBERS),
    Row("tl.sub", "tl.sub(x, y)", lambda x, y: x - y, NUMBERS),
    Row("tl.mul", "tl.mul(x, y)", lambda x, y: x * y, NUMBERS),
    Row("floordiv", "x // y", truncated, INTS, kind="divisor"),
    Row("mod", "x % y", remainder, INTS, kind="divisor"),
    Row("fmod", "x % y", np.fmod, FLOATS, wide16, kind="divisor"),
    Row("div of ints", "x / y", lambda x, y: x.astype(np.float32).astype(float) / y.astype(np.float32), INTS, as_f32, 2, "divisor"),
    Row("div", "x / y", lambda x, y: x / y, FLOATS, wide16, 2),
    Row("fdiv", "tl.fdiv(x, y)", lambda x, y: x / y, F64S, ulp=2),
    Row("div_rn", "tl.div_rn(x, y)", lambda x, y: x / y, ("float32",)),
    Row("cdiv", "tl.cdiv(x, y)", lambda x, y: (x + (y - 1)) // y, INTS, kind="small"),
    Row("and", "x & y", lambda x, y: x & y, ("int1", *INTS)),
    Row("or", "x | y", lambda x, y: x | y, ("int1", *INTS)),
    Row("xor", "x ^ y", lambda x, y: x ^ y, ("int1", *INTS)),
    Row("not", "~x", lambda x, y: ~x, ("int1", *INTS)),
    Row("shl", "x << y", lambda x, y: x << y, INTS, kind="shift"),
    Row("shr", "x >> y", lambda x, y: x >> y, INTS, kind="shift"),
    Row("umulhi", "tl.umulhi(x, y)", high, ("uint32", "uint64")),
    Row("neg", "-x", lambda x, y: -x, (*INTS, *FLOATS)),
    Row("abs", "tl.abs(x)", lambda x, y: np.abs(x), NUMBERS),
    Row("eq", "x == y", lambda x, y: x == y, ALL, as_bool, kind="near"),
    Row("ne", "x != y", lambda x, y: x != y, ALL, as_bool, kind="near"),
    Row("lt", "x < y", lambda x, y: x < y, ALL, as_bool, kind="near"),
    Row("le", "x <= y", lambda x, y: x <= y, ALL, as_bool, kind="near"),
    Row("gt", "x > y", lambda x, y: x > y, ALL, as_bool, kind="near"),
    Row("ge", "x >= y", lambda x, y: x >= y, ALL, as_bool, kind="near"),
    Row("minimum", "tl.minimum(x, y)", fmin, NUMBERS, wide, kind="near"),
    Row("maximum", "tl.maximum(x, y)", fmax, NUMBERS, wide, kind="near"),
    Row("minimum NaN", "tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)", np.minimum, NUMBERS, wide),
    Row("maximum NaN", "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)", np.maximum, NUMBERS, wide),
    Row("clamp", "tl.clamp(x, -1.0, 1.5)" , lambda x, y: np.clip(x, -1, 1.5), FLOATS, lambda t: "float64" if t == "float64" else "float32", kind="numbers"),
    Row("clamp NaN", "tl.clamp(x, -1.0, 1.5, propagate_nan=tl.PropagateNan.ALL)", lambda x, y: np.clip(x, -1, 1.5), FLOATS, lambda t: "float64" if t == "float64" else "float32"),
    Row("where", "tl.where(x < y, x, y)", lambda x, y: np.where(x < y, x, y), ALL),
    Row("where scalar", "tl.where(x == y, 1, y)", lambda x, y: np.where(x == y, x.dtype.type(1), y), NUMBERS, kind="near"),
    Row("fma", "tl.fma(x, y, x)", lambda x, y: x * y + x, ("float16", "bfloat16", "float32"), kind="grid"),
    Row("logical_and", "tl.where((x > y).logical_and(x != 0), x, y)", lambda x, y: np.where((x > y) & (x != 0), x, y), NUMBERS),
    Row("logical_or", "tl.where((x > y).logical_or(x == 0), x, y)", lambda x, y: np.where((x > y) | (x == 0), x, y), NUMBERS),
    Row("floor", "tl.floor(x)", lambda x, y: np.floor(x), F64S),
    Row("ceil", "tl.ceil(x)", lambda x, y: np.ceil(x), F64S),
    Row("rint", "tl.rint(x)", lambda x, y: np.rint(x), F64S),
    Row("rint halves", "(y + 0.5).to(x.dtype).rint()", lambda x, y: np.rint((y + y.dtype.type(0.5)).astype(x.dtype)), FLOATS, kind="grid"),
    Row("sqrt_rn", "tl.sqrt_rn(x)", lambda x, y: np.sqrt(x), ("float32",), kind="positive"),
    Row("sqrt", "tl.sqrt(x)", lambda x, y: np.sqrt(x), F64S, ulp=2, kind="positive"),
    Row("rsqrt", "tl.rsqrt(x)", lambda x, y: 1 / np.sqrt(x), F64S, ulp=3, kind="positive"),
    Row("exp", "tl.exp(x)", lambda x, y: np.exp(x), F64S, ulp=12),
    Row("exp2", "tl.exp2(x)", lambda x, y: np.exp2(x), F64S, ulp=4),
    Row("log", "tl.log(x)", lambda x, y: np.log(x), F64S, ulp=4, kind="positive"),
    Row("log2", "tl.log2(x)", lambda x, y: np.log2(x), F64S, ulp=4, kind="positive"),
    Row("sin", "tl.sin(x)", lambda x, y: np.sin(x), F64S, ulp=4, kind="numbers"),
    Row("cos", "tl.cos(x)", lambda x, y: np.cos(x), F64S, ulp=4, kind="numbers"),
    Row("erf", "tl.erf(x)", lambda x, y: erf(x), F64S, ulp=4, kind="numbers"),
    Row("tanh", "tl.math.tanh(x)", lambda x, y: np.tanh(x), F64S, ulp=6, kind="numbers"),
    Row("sigmoid", "tl.sigmoid(x)", lambda x, y: 1 / (1 + np.exp(-x)), F64S, ulp=12, kind="numbers"),
]  # fmt: skip


def operands(rng: Any, row: Row, dtype: str, shape: Any) -> tuple[Any, Any]:
    x, y = numbers(rng, dtype, shape), numbers(rng, dtype, shape)
    if row.kind == "near":
        equal = rng.integers(0, 2, shape).astype(bool)
        y = np.where(equal, x, y)
    elif row.kind == "small":
        x, y = x % np.array(100, dtype), y % np.array(9, dtype) + np.array(1, dtype)
        x = np.abs(x) if dtype in SINTS else x
        y = np.abs(y) + np.array(1, dtype)
    elif row.kind == "shift":
        y = (y % np.array(8 * y.itemsize, dtype)).astype(dtype)
        y = np.abs(y)
    elif row.kind == "divisor" and is_float(dtype):
        x = encode(rng.standard_normal(shape) * 50, dtype)
        y = encode(rng.choice([-1, 1], shape) * rng.uniform(0.5, 4, shape), dtype)
    elif row.kind == "divisor":
        y[(y == 0) | (y == np.array(-1).astype(dtype))] = 3
    elif row.kind == "numbers":
        x, y = (encode(rng.standard_normal(shape) * 3, dtype) for _ in "xy")
    elif row.kind == "positive":
        x = encode(np.exp2(rng.uniform(-30, 30, shape)), dtype)
    elif row.kind == "grid":  # products and sums that one rounding to float64 keeps
        x, y = (encode(rng.integers(-200, 200, shape) / 64, dtype) for _ in "xy")
    return x, y


CASES = [(row, t) for row in ROWS for t in row.dtypes]


@pytest.mark.parametrize("row,dtype", CASES, ids=[f"{r.name}-{t}" for r, t in CASES])
def test_elementwise(machine: Machine, rng: Any, row: Row, dtype: str) -> None:
    at = sum(map(ord, row.name + dtype))
    shape = SHAPES[at % len(SHAPES)]
    x, y = operands(rng, row, dtype, shape)
    out = row.out(dtype)
    body = f"""
i = {index(shape)}
x = tl.load(x0 + i)
y = tl.load(x1 + i)
z = {row.text}
tl.static_assert(z.dtype == tl.{out})
tl.store(x2 + i, z)
"""
    warps = (1, 4, 8)[at // 6 % 3]
    memory = Arg(x, dtype), Arg(y, dtype), result(out, shape)
    got = machine.run(body, *memory, options={"num_warps": warps})[2]
    with np.errstate(all="ignore"):
        a, b = (decode(v, dtype) for v in (x, y))
        want = np.asarray(row.want(a, b))
        if out == "int1":
            np.testing.assert_array_equal(got, want)
        elif not is_float(out):
            bits = 8 * storage(out).itemsize
            wrapped = np.array([int(v) % 2**bits for v in want.ravel()], np.uint64)
            want = wrapped.astype(f"uint{bits}").view(storage(out)).reshape(shape)
            same_bits(got, want, out)
        elif row.ulp:
            close(
                got, want, out, row.ulp, tiny=EPS[out] if row.kind == "numbers" else 0.0
            )
        else:
            same_bits(got, encode(want, out), out)


# --- mixed types ---------------------------------------------------------------------
# left, right, the type of their sum: section 2.4 and 2.5 of the language.
MIXED = [
    ("int8", "int16", "int16"), ("int8", "uint8", "uint8"), ("int16", "uint8", "int16"),
    ("int32", "uint32", "uint32"), ("int64", "uint32", "int64"), ("int64", "uint64", "uint64"),
    ("int1", "int8", "int8"), ("int1", "uint64", "uint64"), ("int32", "float16", "float16"),
    ("int8", "bfloat16", "float32"), ("float16", "bfloat16", "float16"),
    ("bfloat16", "float32", "float32"), ("float32", "float64", "float64"),
    ("int64", "float32", "float32"), ("uint16", "float64", "float64"),
    ("float8e5", "float16", "float16"), ("float8e4nv", "bfloat16", "float32"),
    ("float8e4nv", "float8e5", "float16"), ("float8e4b15", "float8e4b8", "float16"),
    ("float8e5b16", "float32", "float32"), ("float8e4b15", "bfloat16", "float32"),
]  # fmt: skip


@pytest.mark.parametrize("left,right,out", MIXED, ids=["+".join(m[:2]) for m in MIXED])
def test_mixed_types(
    machine: Machine, rng: Any, left: str, right: str, out: str
) -> None:
    def small(dtype: str) -> np.ndarray:
        low = 0 if dtype[0] == "u" or dtype == "int1" else -3
        return encode(rng.integers(low, 2 if dtype == "int1" else 4, 64), dtype)

    x, y = small(left), small(right)
    body = f"""
i = tl.arange(0, 64)
z = tl.load(x0 + i) + tl.load(x1 + i)
tl.static_assert(z.dtype == tl.{out})
tl.store(x2 + i, z)
"""
    got = machine.run(body, Arg(x, left), Arg(y, right), result(out, 64))[2]
    total = decode(x, left).astype(np.float64) + decode(y, right).astype(np.float64)
    if is_float(out):
        same_bits(got, encode(total, out), out)
    else:
        np.testing.assert_array_equal(got, total.astype(np.int64).astype(out))


# --- broadcasting --------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ("int8", "int64", "float16", "bfloat16", "float32"))
def test_broadcast(machine: Machine, rng: Any, dtype: str) -> None:
    x, y = (encode(rng.integers(-9, 9, n), dtype) for n in (8, 16))
    body = """
a = tl.load(x0 + tl.arange(0, 8))
b = tl.load(x1 + tl.arange(0, 16))
i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
tl.store(x2 + i, a[:, None] * b[None, :] + tl.load(x0))
p, q = tl.broadcast(a[:, None], b[None, :])
tl.store(x3 + i, p - q)
tl.store(x4 + i, tl.broadcast_to(tl.expand_dims(a, 1), (8, 16)))
"""
    three = [result(dtype, (8, 16)) for _ in range(3)]
    got = machine.run(body, Arg(x, dtype), Arg(y, dtype), *three)[2:]
    a, b = (decode(v, dtype).astype(np.float64) for v in (x, y))
    full = np.broadcast_to(a[:, None], (8, 16))
    for g, w in zip(got, (a[:, None] * b + a[0], a[:, None] - b, full), strict=True):
        same_bits(g, encode(w, dtype), dtype)


def test_formats() -> None:
    """encode and decode undo each other on every number of every format."""
    for dtype in FORMATS:
        bits = np.arange(2 ** (8 * storage(dtype).itemsize)).astype(storage(dtype))
        finite = np.isfinite(decode(bits, dtype))
        if dtype == "float8e4b15":  # nothing is rounded to 1.875
            finite[[127, 255]] = False
        same_bits(encode(decode(bits, dtype), dtype)[finite], bits[finite], dtype)
