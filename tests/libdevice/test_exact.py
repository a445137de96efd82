"""What has one right answer: bits, integers, rounding to whole numbers, remainders."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from calling import same
from test_rounding import edges, pairs, value

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice

RNG = np.random.default_rng(0)


def integers(kind: Any, n: int = 500) -> np.ndarray:
    info = np.iinfo(kind)
    a = np.random.default_rng(1).integers(info.min, info.max, n, kind, endpoint=True)
    some = [0, 1, 2, 3, info.max, info.max - 1, info.min, info.max // 2 + 1]
    some += [1 << k for k in range(info.bits - 1)]
    return np.concatenate([a, a >> 9, a >> 20, np.array(some, kind)])


def wrapped(v: int, kind: Any) -> Any:
    n = np.iinfo(kind).bits
    v &= (1 << n) - 1
    return kind(v - (1 << n) if np.iinfo(kind).min and v >> (n - 1) else v)


def low(v: int, bits: int) -> int:
    return v & ((1 << bits) - 1)


ONE: dict[str, Callable[[int, int], int]] = {
    "popc": lambda v, n: low(v, n).bit_count(),
    "clz": lambda v, n: n - low(v, n).bit_length(),
    "ffs": lambda v, n: (low(v, n) & -low(v, n)).bit_length(),
    "brev": lambda v, n: int(f"{low(v, n):0{n}b}"[::-1], 2),
}


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name", ONE)
def test_bits(call: Any, name: str, kind: Any) -> None:
    x = integers(kind)
    out = kind if name == "brev" else np.int32
    got = call(getattr(libdevice, name), x, out=out)
    want = [wrapped(ONE[name](int(v), x.itemsize * 8), out) for v in x]
    assert got.tolist() == [int(v) for v in want]


def signed24(v: int, kind: Any) -> int:
    v = low(v, 24)
    return v - (1 << 24) if np.iinfo(kind).min and v >> 23 else v


TWO: dict[str, Any] = {
    "mul24": lambda a, b, k: signed24(a, k) * signed24(b, k),
    "mulhi": lambda a, b, k: (a * b) >> np.iinfo(k).bits,
    "hadd": lambda a, b, k: (a + b) >> 1,
    "rhadd": lambda a, b, k: (a + b + 1) >> 1,
}


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name", TWO)
def test_two_integers(call: Any, name: str, kind: Any) -> None:
    if name != "mulhi" and np.iinfo(kind).bits == 64:
        return
    x = integers(kind)
    y = np.random.default_rng(2).permutation(x)
    got = call(getattr(libdevice, name), x, y)
    want = [
        wrapped(TWO[name](int(a), int(b), kind), kind)
        for a, b in zip(x, y, strict=True)
    ]
    assert got.tolist() == [int(v) for v in want]


@pytest.mark.parametrize("kind", [np.int32, np.uint32])
def test_sad_and_bytes(call: Any, kind: Any) -> None:
    x = integers(kind)
    y = np.random.default_rng(3).permutation(x)
    z = integers(np.uint32)
    z = np.resize(z, len(x))
    got = call(libdevice.sad, x, y, z, out=np.uint32)
    rows = list(zip(x.tolist(), y.tolist(), z.tolist(), strict=True))
    assert got.tolist() == [low(abs(a - b) + c, 32) for a, b, c in rows]

    def perm(a: int, b: int, s: int) -> int:
        both = low(b, 32) << 32 | low(a, 32)
        r = 0
        for i in range(4):
            r |= (both >> (8 * (s >> (4 * i) & 7)) & 255) << (8 * i)
        return r

    s = z.astype(kind)
    got = call(libdevice.byte_perm, x, y, s)
    want = [wrapped(perm(a, b, c), kind) for a, b, c in rows]
    assert got.tolist() == [int(v) for v in want]


CASTS = [
    ("float_as_int", np.float32, np.int32),
    ("float_as_uint", np.float32, np.uint32),
    ("int_as_float", np.int32, np.float32),
    ("uint_as_float", np.uint32, np.float32),
    ("double_as_longlong", np.float64, np.int64),
    ("longlong_as_double", np.int64, np.float64),
]


@pytest.mark.parametrize("name,source,target", CASTS, ids=[c[0] for c in CASTS])
def test_bit_casts(call: Any, name: str, source: Any, target: Any) -> None:
    x = pairs(source, 1)[0] if np.dtype(source).kind == "f" else integers(source)
    got = call(getattr(libdevice, name), x, out=target)
    assert same(got, x.view(target)).all()


def test_halves_of_doubles(call: Any) -> None:
    x = pairs(np.float64, 1)[0]
    w = x.view(np.int32).reshape(-1, 2)
    high = call(libdevice.double2hiint, x, out=np.int32)
    lower = call(libdevice.double2loint, x, out=np.int32)
    assert (high == w[:, 1]).all() and (lower == w[:, 0]).all()
    assert same(call(libdevice.hiloint2double, high, lower, out=np.float64), x).all()


FLOAT_ONE = {
    "isnan": (np.isnan, np.int8),
    "isinf": (np.isinf, np.int8),
    "signbit": (np.signbit, np.int32),
    "trunc": (np.trunc, None),
    "floor": (np.floor, None),
    "ceil": (np.ceil, None),
    "rint": (np.rint, None),
    "nearbyint": (np.rint, None),
    "abs": (np.abs, None),
    "round": (
        lambda x: np.copysign(np.floor(np.abs(x)) + (np.abs(x) % 1 >= 0.5), x),
        None,
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FLOAT_ONE)
def test_of_one(call: Any, name: str, dtype: Any) -> None:
    near = np.concatenate([np.arange(-60, 60) / 4, 2.0**22 + np.arange(-9, 9) / 4])
    near = np.concatenate(
        [near, 2.0**51 + np.arange(-9, 9) / 2, 2.0**23 - np.arange(9) / 2]
    )
    x = np.concatenate([pairs(dtype, 1)[0], near, -near, np.nextafter(near, 0)]).astype(
        dtype
    )
    want, out = FLOAT_ONE[name]
    got = call(getattr(libdevice, name), x, out=out or dtype)
    with np.errstate(all="ignore"):
        expect = want(x).astype(out or dtype)
    bad = np.flatnonzero(~same(got, expect))
    assert not len(bad), [(x[i], got[i], expect[i]) for i in bad[:5]]


def test_finite(call: Any) -> None:
    x, y = pairs(np.float32, 1)[0], pairs(np.float64, 1)[0]
    assert (call(libdevice.finitef, x, out=np.int8) == np.isfinite(x)).all()
    assert (call(libdevice.isfinited, y, out=np.int8) == np.isfinite(y)).all()
    assert same(
        call(libdevice.saturatef, x), np.clip(np.nan_to_num(x), 0, 1) + 0.0
    ).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["llrint", "llround"])
def test_to_long(call: Any, name: str, dtype: Any) -> None:
    x = np.concatenate([np.arange(-60, 60) / 4, edges(dtype)]).astype(dtype)
    got = call(getattr(libdevice, name), x, out=np.int64)

    def of(v: Any) -> int:
        if np.isnan(v):
            return -(2**63)
        if abs(v) >= 2.0**63:
            return 2**63 - 1 if v > 0 else -(2**63)
        f = value(v)
        if name == "llrint":
            return round(f)
        return int(math.copysign(math.floor(abs(f) + Fraction(1, 2)), v))

    assert got.tolist() == [of(v) for v in x]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponents(call: Any, dtype: Any) -> None:
    x = pairs(dtype, 1)[0]
    got, as_float = call(libdevice.ilogb, x, out=np.int32), call(libdevice.logb, x)
    for v, i, f in zip(x, got, as_float, strict=True):
        if np.isnan(v):
            assert i == -(2**31) and np.isnan(f)
        elif v == 0:
            assert i == -(2**31) and f == -np.inf
        elif np.isinf(v):
            assert i == 2**31 - 1 and f == np.inf
        else:
            assert i == math.frexp(v)[1] - 1 == f


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["ldexp", "scalbn"])
def test_scale(call: Any, name: str, dtype: Any) -> None:
    x = pairs(dtype, 1)[0]
    k = np.random.default_rng(4).integers(-2200, 2200, len(x)).astype(np.int32)
    e = np.where(np.isfinite(x), np.frexp(x)[1], 0)
    k[::2] = -e[::2] + np.resize(np.arange(-160, 140), len(x))[::2]
    k[-3:] = 2**31 - 1, -(2**31), -2200
    got = call(getattr(libdevice, name), x, k)

    def of(v: Any, n: int) -> Any:
        if not np.isfinite(v) or v == 0:
            return v
        from exact import to_float

        n = max(min(n, 5000), -5000)
        return to_float(value(v) * Fraction(2) ** n, dtype, "rn", v)

    want = np.array([of(v, int(n)) for v, n in zip(x, k, strict=True)], dtype)
    bad = np.flatnonzero(~same(got, want))
    assert not len(bad), [(x[i], k[i], got[i], want[i]) for i in bad[:5]]


def remainder(a: Any, b: Any) -> Any:
    if np.isnan(a) or np.isnan(b) or np.isinf(a) or b == 0:
        return np.nan
    return math.remainder(a, b)


FLOAT_TWO: dict[str, Any] = {
    "fmod": np.fmod,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "fdim": lambda a, b: np.where(a <= b, 0.0, a - b),
    "remainder": np.vectorize(remainder),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FLOAT_TWO)
def test_of_two(call: Any, name: str, dtype: Any) -> None:
    x, y = pairs(dtype, 2)
    whole = np.arange(-200, 200).astype(dtype)
    x = np.concatenate([x, whole, whole * dtype(2.0**60)])
    y = np.concatenate(
        [y, np.resize([3, 4, 6, 7, -2], 400).astype(dtype)] * 1
        + [np.full(400, 12, dtype)]
    )
    got = call(getattr(libdevice, name), x, y)
    with np.errstate(all="ignore"):
        want = np.asarray(FLOAT_TWO[name](x, y)).astype(dtype)
    bad = np.flatnonzero(~same(got, want))
    assert not len(bad), [(x[i], y[i], got[i], want[i]) for i in bad[:5]]


@tegula.jit
def promoted(out, x):
    v = tl.load(x)
    tl.store(out, libdevice.fdim(v, 0.1))
    tl.store(out + 1, libdevice.fdim(0.1, v.to(tl.float32)))
    tl.store(out + 2, libdevice.fdim(y=1, x=v))


def test_numbers_are_weak() -> None:
    """0.1 beside a float64 is the float64; a float32 beside it promotes."""
    out = np.zeros(3)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        promoted[(1,)](out, np.array([3.0]))
    assert out.tolist() == [3.0 - 0.1, 0.0, 2.0]
