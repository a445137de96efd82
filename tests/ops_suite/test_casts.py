"""Every element type to every other one, and bits read as another type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import FNUZ, FORMATS, encode, is_float, storage
from suite import ALL, FP8, Arg, Machine, decode, numbers, result, same_bits

N = 256


def values(rng: Any, old: str, new: str) -> np.ndarray:
    """What has a result in the new type: float to integer outside of it has none."""
    x = numbers(rng, old, N)
    if not is_float(old) or new == "int1":
        return x
    if is_float(new):
        if storage(old).itemsize <= 2 and old != "int1":  # all there are, in turn
            bits = 8 * x.itemsize
            raw = np.arange(N) * (2**bits // N) + rng.integers(0, 2**bits // N)
            x = raw.astype(f"uint{bits}").view(storage(old))
        elif new in FORMATS or new == "float16":
            x = encode(rng.standard_normal(N) * np.exp2(rng.integers(-20, 20, N)), old)
        return x
    info = np.iinfo(new)
    low, high = max(info.min, -(2.0**30)), min(info.max, 2.0**30)
    limit = min(high, {"float8e4nv": 448, "float16": 60000}.get(old, 2.0**15))
    return encode(rng.uniform(max(low, -limit), limit, N), old)


def cast(x: np.ndarray, old: str, new: str) -> np.ndarray:
    v = decode(x, old)
    if new == "int1":
        return v != 0
    if is_float(new):
        # Through float64 an integer of 64 bits would be rounded twice.
        if not is_float(old) and new not in FORMATS:
            return v.astype(storage(new))
        return encode(v, new)
    if is_float(old):
        return np.trunc(v).astype(np.int64).astype(storage(new))
    return v.astype(storage(new))


# Eight bits of a float and integers have no conversion in the language.
PAIRS = [
    (a, b)
    for a in ALL
    for b in ALL
    if a != b and not ({a, b} & set(FP8) and not (is_float(a) and is_float(b)))
]


@pytest.mark.parametrize("old,new", PAIRS, ids=["-".join(p) for p in PAIRS])
def test_cast(machine: Machine, rng: Any, old: str, new: str) -> None:
    x = values(rng, old, new)
    body = f"""
i = tl.arange(0, {N})
tl.store(x1 + i, tl.load(x0 + i).to(tl.{new}))
tl.store(x2 + i, tl.cast(tl.load(x0 + i), tl.{new}), mask=i < 99)
"""
    full, part = machine.run(body, Arg(x, old), result(new, N), result(new, N))[1:]
    with np.errstate(all="ignore"):
        want = cast(x, old, new)
    same_bits(full, want, new)
    same_bits(part[:99], want[:99], new)
    np.testing.assert_array_equal(part[99:], result(new, N).data[99:])


@pytest.mark.parametrize("old", ("float16", "bfloat16", *FP8))
def test_all_numbers(machine: Machine, old: str) -> None:
    """Every float of 8 bits, and every 16th of 16 bits, to the wider types."""
    bits = 8 * storage(old).itemsize
    x = np.arange(0, 2**bits, max(1, 2**bits // 4096))
    x = x.astype(f"uint{bits}").view(storage(old))
    for new in ("float32", "float64"):
        body = f"i = tl.arange(0, {len(x)})\ntl.store(x1 + i, tl.load(x0 + i).to(tl.{new}))"
        got = machine.run(body, Arg(x, old), result(new, len(x)))[1]
        same_bits(got, encode(decode(x, old), new), new)


TOWARDS_ZERO = [
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("float32", "float8e5"),
    ("float32", "float8e4b8"),
    ("float32", "float8e5b16"),
]


@pytest.mark.parametrize(
    "old,new", TOWARDS_ZERO, ids=["-".join(p) for p in TOWARDS_ZERO]
)
def test_towards_zero(machine: Machine, rng: Any, old: str, new: str) -> None:
    x = (rng.standard_normal(N) * np.exp2(rng.integers(-10, 10, N))).astype(np.float32)
    body = f"""
i = tl.arange(0, {N})
tl.store(x1 + i, tl.load(x0 + i).to(tl.{new}, fp_downcast_rounding="rtz"))
"""
    got = machine.run(body, Arg(x, old), result(new, N))[1]
    near = encode(x, new)
    over = np.abs(decode(near, new)) > np.abs(x)
    raw = near.view(f"uint{8 * near.itemsize}")
    want = np.where(over, raw - 1, raw).astype(raw.dtype)
    if new in FNUZ:
        want[want == 128] = 0
    same_bits(got, want.view(near.dtype), new)


SAME_WIDTH = [
    ("int8", "uint8"), ("uint8", "float8e4nv"), ("float8e5", "int8"), ("int16", "float16"),
    ("bfloat16", "uint16"), ("float16", "bfloat16"), ("float32", "int32"),
    ("uint32", "float32"), ("float64", "uint64"), ("int64", "float64"),
    ("float8e4b15", "uint8"), ("int8", "float8e4b8"), ("float8e5b16", "float8e4nv"),
]  # fmt: skip


@pytest.mark.parametrize("old,new", SAME_WIDTH, ids=["-".join(p) for p in SAME_WIDTH])
def test_bitcast(machine: Machine, rng: Any, old: str, new: str) -> None:
    size = storage(old).itemsize
    x = rng.integers(0, 256, N * size).astype(np.uint8).view(storage(old))
    body = f"""
i = tl.arange(0, {N})
tl.store(x1 + i, tl.load(x0 + i).to(tl.{new}, bitcast=True))
"""
    got = machine.run(body, Arg(x, old), result(new, N))[1]
    np.testing.assert_array_equal(got.view(np.uint8), x.view(np.uint8))
