"""Directed rounding and conversions against rational arithmetic: equal bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from calling import same
from exact import root, to_float, whole

from tegula.language.extra import libdevice

MODES = ("rn", "rz", "rd", "ru")
NAN = float("nan")


def edges(dtype: Any) -> np.ndarray:
    f = np.finfo(dtype)
    some = [0.0, 1.0, 1.5, 2.0, 3.0, 0.1, f.eps, f.max, f.max / 2, f.tiny, 2 * f.tiny]
    some += [f.smallest_subnormal, 3 * f.smallest_subnormal, f.tiny * 0.75, np.inf]
    some += [1 + f.eps, 1 - f.eps / 2, f.max * (1 - f.eps), 1 / f.max]
    a = np.array(some, dtype)
    return np.concatenate([a, -a, [np.array(np.nan, dtype)]])


def numbers(dtype: Any, n: int, seed: int) -> np.ndarray:
    """Any bits; exponents near each other; small multiples of the least number."""
    rng = np.random.default_rng(seed)
    u = f"u{np.dtype(dtype).itemsize}"
    any_bits = rng.integers(0, np.iinfo(u).max, n, u).view(dtype)
    near = (rng.standard_normal(n) * 2.0 ** rng.integers(-3, 4, n)).astype(dtype)
    short = (rng.integers(-64, 64, n) * 2.0 ** rng.integers(-30, 30, n)).astype(dtype)
    low = rng.integers(0, 2**20, n).astype(u).view(dtype)
    root_low = near * dtype(np.sqrt(float(np.finfo(dtype).tiny)))
    return np.concatenate([any_bits, near, short, low, root_low])


def pairs(dtype: Any, k: int, n: int = 300) -> list[np.ndarray]:
    e = edges(dtype)
    grid = [g.ravel() for g in np.meshgrid(*[e] * min(k, 2))]
    if k == 3:
        grid.append(np.resize(e[::-1], len(grid[0])))
    rng = np.random.default_rng(k)
    some = [rng.permutation(numbers(dtype, n, 7 + i)) for i in range(k)]
    if k > 1:  # close to each other, so that sums cancel and quotients are near 1
        a = numbers(dtype, n, 3)
        u = f"u{a.itemsize}"
        b = (a.view(u) + rng.integers(0, 5, len(a), u)).view(dtype)
        some[0] = np.concatenate([some[0], a])
        some[1] = np.concatenate([some[1], -b])
        if k == 3:  # a b + c that cancels all but the last bits
            with np.errstate(all="ignore"):
                some[2] = np.concatenate([some[2], a * b])
    return [np.concatenate(p) for p in zip(grid, some, strict=True)]


def value(x: Any) -> Fraction:
    return Fraction(float(x))


def sum_of(a: Any, b: Fraction, b_sign: bool, dtype: Any, mode: str) -> Any:
    """a + b; the zero of a sum has a sign of its own."""
    total = value(a) + b
    zero = 0.0
    if not total:
        both = bool(np.signbit(a)) and b_sign
        either = bool(np.signbit(a)) or b_sign
        exact = not value(a) and not b
        minus = both if mode != "rd" else (either if exact else True)
        zero = -0.0 if minus else 0.0
    return to_float(total, dtype, mode, zero)


def expect(op: str, mode: str, args: list[Any]) -> Any:
    dtype = args[0].dtype
    with np.errstate(all="ignore"):
        if not all(np.isfinite(args)):
            if op == "fma":
                if np.isfinite(args[0]) and np.isfinite(args[1]):
                    return args[2]
                return args[0] * args[1] + args[2]
            if op == "rcp":
                return dtype.type(1) / args[0]
            fn = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
            fn |= {"div": np.divide, "sqrt": np.sqrt}
            return fn[op](*args)
        sign = np.signbit(args[0]) ^ np.signbit(args[-1])
        if op in ("add", "sub"):
            b = args[1] if op == "add" else -args[1]
            return sum_of(args[0], value(b), bool(np.signbit(b)), dtype, mode)
        if op == "mul":
            p = value(args[0]) * value(args[1])
            return to_float(p, dtype, mode, -0.0 if sign else 0.0)
        if op == "fma":
            p = value(args[0]) * value(args[1])
            minus = bool(np.signbit(args[0]) ^ np.signbit(args[1]))
            return sum_of(args[2], p, minus, dtype, mode)
        if op in ("div", "rcp"):
            x, y = args if op == "div" else (dtype.type(1), args[0])
            if not y or not x:
                return x / y
            return to_float(value(x) / value(y), dtype, mode)
        if args[0] <= 0:
            return np.sqrt(args[0])
        return root(value(args[0]), dtype, mode)


OPS = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", OPS)
def test_arithmetic(call: Any, op: str, mode: str, dtype: Any) -> None:
    args = pairs(dtype, OPS[op])
    got = call(getattr(libdevice, f"{op}_{mode}"), *args)
    want = np.array(
        [expect(op, mode, list(row)) for row in zip(*args, strict=True)], dtype
    )
    bad = np.flatnonzero(~same(got, want))
    assert not len(bad), [(*(a[i] for a in args), got[i], want[i]) for i in bad[:5]]


@pytest.mark.parametrize("mode", MODES)
def test_double_to_float(call: Any, mode: str) -> None:
    x = np.concatenate(
        [pairs(np.float64, 1)[0], edges(np.float32), numbers(np.float32, 99, 1)]
    )
    with np.errstate(all="ignore"):
        x = np.concatenate([x, np.nextafter(x, 9), (x.astype("f4") * 1.5).astype("f8")])
    got = call(getattr(libdevice, f"double2float_{mode}"), x, out=np.float32)
    with np.errstate(all="ignore"):
        want = [
            to_float(value(v), "f4", mode, v) if np.isfinite(v) else np.float32(v)
            for v in x
        ]
    assert same(got, np.array(want, "f4")).all()


NAN_GIVES = {
    ("float", "int"): 0,
    ("float", "uint"): 0,
    ("float", "ll"): -(2**63),
    ("float", "ull"): 2**63,
    ("double", "int"): -(2**31),
    ("double", "uint"): 2**31,
    ("double", "ll"): -(2**63),
    ("double", "ull"): 2**63,
}
KIND = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source,target", NAN_GIVES)
def test_float_to_integer(call: Any, source: str, target: str, mode: str) -> None:
    dtype, kind = {"float": np.float32, "double": np.float64}[source], KIND[target]
    rng = np.random.default_rng(5)
    halves = np.arange(-40, 40) / 4
    big = rng.standard_normal(400) * 2.0 ** rng.integers(0, 66, 400)
    tops = [
        s * 2.0**k + d
        for s in (-1, 1)
        for k in (22, 23, 31, 32, 52, 63, 64)
        for d in (-1, -0.5, 0, 0.5, 1)
    ]
    x = np.concatenate([halves, big, np.array(tops), edges(dtype)]).astype(dtype)
    got = call(getattr(libdevice, f"{source}2{target}_{mode}"), x, out=kind)
    info = np.iinfo(kind)

    def of(v: Any) -> int:
        if np.isnan(v):
            return NAN_GIVES[source, target]
        if np.isinf(v):
            return info.max if v > 0 else info.min
        return min(max(whole(value(v), mode), info.min), info.max)

    want = np.array([of(v) for v in x], kind)
    bad = np.flatnonzero(got != want)
    assert not len(bad), [(x[i], got[i], want[i]) for i in bad[:5]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", ["float", "double"])
@pytest.mark.parametrize("source", KIND)
def test_integer_to_float(call: Any, source: str, target: str, mode: str) -> None:
    fn = getattr(libdevice, f"{source}2{target}_{mode}", None)
    if fn is None:
        assert target == "double" and mode != "rn" and source in ("int", "uint")
        return
    kind = KIND[source]
    info = np.iinfo(kind)
    rng = np.random.default_rng(6)
    x = rng.integers(info.min, info.max, 400, kind, endpoint=True)
    some = [
        s << k | low for s in (1, 3, 0x1FFFFFF) for k in range(39) for low in (0, 1)
    ]
    some += [(1 << k) + d for k in range(1, 64) for d in (-1, 0, 1)]
    some = [v for v in some if v <= info.max] + [0, info.max, info.max - 1]
    both = some + ([-v for v in some] + [info.min] if info.min else [])
    x = np.concatenate([x, x >> 20, np.array(both, kind)])
    dtype = np.dtype("f4" if target == "float" else "f8")
    got = call(fn, x, out=dtype)
    want = np.array([to_float(Fraction(int(v)), dtype, mode) for v in x], dtype)
    bad = np.flatnonzero(~same(got, want))
    assert not len(bad), [(x[i], got[i], want[i]) for i in bad[:5]]
