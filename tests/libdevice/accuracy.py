"""Accuracy: functions of mpmath, where to sample, and the distance in last places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.prec = 200


def ulp_of(v: Any, dtype: Any) -> Any:
    p, least = (24, -149) if dtype == np.float32 else (53, -1074)
    e = mpmath.frexp(v)[1] if v else -9999
    return mpf(2) ** max(e - p, least)


def distance(got: Any, want: Any, dtype: Any) -> float:
    """Of a float from the exact value; inf where one is a number and the other is not."""
    if isinstance(want, mpmath.mpc):
        want = mpf("nan")
    top = float(np.finfo(dtype).max)
    if mpmath.isnan(want) or np.isnan(got):
        return 0.0 if mpmath.isnan(want) and np.isnan(got) else np.inf
    if mpmath.isinf(want) or abs(want) > top * (1 + np.finfo(dtype).eps / 4):
        if np.isinf(got) and (got > 0) == (want > 0):
            return 0.0
        if mpmath.isinf(want):
            return np.inf
    if np.isinf(got):
        # Half a unit beyond the largest number is infinite.
        return float(
            (mpf(top) + ulp_of(mpf(top), dtype) - abs(want)) / ulp_of(want, dtype)
        )
    return float(abs(mpf(float(got)) - want) / ulp_of(want, dtype))


@dataclass
class Case:
    fn: Callable[..., Any]  # of mpmath
    ulp32: float  # allowed
    ulp64: float
    ranges: Sequence[Sequence[tuple[float, float]]]  # of each operand: pieces
    logs: bool = True  # also magnitudes over all exponents
    whole: bool = False  # the last operand is an int32


def samples(case: Case, dtype: Any, n: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    n_pieces = len(case.ranges[0])
    out = []
    for pieces in case.ranges:
        a = [rng.uniform(lo, hi, n // n_pieces) for lo, hi in pieces]
        if case.logs:
            f = np.finfo(dtype)
            lo, hi = np.log2(float(f.smallest_subnormal)), np.log2(float(f.max))
            big = 2.0 ** rng.uniform(lo, hi, n // 4) * rng.choice([-1, 1], n // 4)
            some = 2.0 ** rng.uniform(-30, 12, n // 4) * rng.choice([-1, 1], n // 4)
            a += [big, some]
        with np.errstate(all="ignore"):
            out.append(np.concatenate(a).astype(dtype))
    if case.whole:
        out[-1] = rng.integers(-40, 40, len(out[0])).astype(np.int32)
    return out


def nan() -> Any:
    return mpf("nan")


def guarded(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Poles and branch cuts: what libm says there."""

    def run(*args: Any) -> Any:
        try:
            v = fn(*args)
        except ZeroDivisionError:
            return mpf("inf")
        except (ValueError, mpmath.libmp.libhyper.NoConvergence):
            return nan()
        return nan() if isinstance(v, mpmath.mpc) and v.imag else mpmath.re(v)

    return run


def log(x: Any) -> Any:
    return mpf("-inf") if not x else (nan() if x < 0 else mpmath.log(x))


def expm1(x: Any) -> Any:
    return mpmath.expm1(x)


def power(x: Any, y: Any) -> Any:
    if not x:
        if not y:
            return mpf(1)
        return mpf("inf") if y < 0 else mpf(0)
    if x < 0 and y != mpmath.floor(y):
        return nan()
    return (
        mpmath.sign(x) ** int(y % 2) * mpmath.exp(y * mpmath.log(abs(x)))
        if x < 0
        else mpmath.exp(y * mpmath.log(x))
    )


def root(x: Any) -> Any:
    return nan() if x < 0 else mpmath.sqrt(x)


def cube(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def over(fn: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        v = fn(*args)
        return 1 / v if v else mpf("inf")

    return run


def norm(*args: Any) -> Any:
    return mpmath.sqrt(sum(a * a for a in args))


def logs_of(fn: Callable[..., Any], a: float, b: float) -> Callable[..., Any]:
    return lambda x: fn(x) if a <= x <= b else nan()


def erfc(x: Any) -> Any:
    return mpmath.erfc(x) if abs(x) < 100 else mpf(0 if x > 0 else 2)


def erf(x: Any) -> Any:
    return mpmath.erf(x) if abs(x) < 100 else mpmath.sign(x)


def erfcx(x: Any) -> Any:
    if x > 1000:
        y, t, total = 2 * x * x, mpf(1), mpf(1)
        for k in range(1, 12):
            t *= -(2 * k - 1) / y
            total += t
        return total / (x * mpmath.sqrt(mpmath.pi))
    if x < -200:
        return mpf("inf")
    return mpmath.exp(x * x) * mpmath.erfc(x)


def erfcinv(q: Any) -> Any:
    """Newton on the logarithm of erfc."""
    if q == 0 or q == 2:
        return mpf("inf") if q == 0 else mpf("-inf")
    if not 0 < q < 2:
        return nan()
    if q > 1:
        return -erfcinv(2 - q)
    if q > 0.4:
        return mpmath.erfinv(1 - q)
    y = mpmath.sqrt(-mpmath.log(q))
    for _ in range(200):
        e = mpmath.erfc(y)
        d = mpmath.log(e / q) * e * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
        y += d
        if abs(d) < mpf(10) ** -40:
            break
    return y


def erfinv(x: Any) -> Any:
    if abs(x) > 1:
        return nan()
    if abs(x) < 0.5:
        return mpmath.erfinv(x)
    return mpmath.sign(x) * erfcinv(1 - abs(x))


def gamma(x: Any) -> Any:
    return mpmath.gamma(x) if abs(x) < 200 else (mpf(0) if x < 0 else mpf("inf"))


def lgamma(x: Any) -> Any:
    return mpmath.log(abs(mpmath.gamma(x))) if x < 0 else mpmath.loggamma(x)


def positive(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: nan() if x < 0 else (mpf("-inf") if x == 0 else fn(x))


def modified(n: int) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        if abs(x) > 800:
            return mpf("inf") * (mpmath.sign(x) if n else 1)
        return mpmath.besseli(n, x)

    return run


R = [(-4.0, 4.0)]
SMALL = [(-8.0, 8.0), (-0.1, 0.1)]
CASES: dict[str, Case] = {
    "exp": Case(mpmath.exp, 1, 1, [[(-90, 90), (-745, 710)]]),
    "exp2": Case(lambda x: mpf(2) ** x, 1, 1, [[(-150, 130), (-1075, 1025)]]),
    "exp10": Case(lambda x: mpf(10) ** x, 1, 1, [[(-46, 39), (-324, 310)]]),
    "expm1": Case(expm1, 1, 1, [[(-1, 1), (-40, 90), (90, 710)]]),
    "sinh": Case(mpmath.sinh, 3, 2, [[(-1, 1), (-90, 90), (90, 711)]]),
    "cosh": Case(mpmath.cosh, 2, 1, [[(-1, 1), (-90, 90), (90, 711)]]),
    "tanh": Case(mpmath.tanh, 2, 2, [[(-1, 1), (-20, 20)]]),
    "log": Case(log, 1, 1, [[(0, 4), (0.9, 1.1)]]),
    "log2": Case(lambda x: log(x) / mpmath.log(2), 1, 1, [[(0, 4), (0.9, 1.1)]]),
    "log10": Case(lambda x: log(x) / mpmath.log(10), 1, 1, [[(0, 4), (0.9, 1.1)]]),
    "log1p": Case(
        lambda x: mpmath.log1p(x) if x > -1 else log(1 + x),
        2,
        2,
        [[(-1, 4), (-0.1, 0.1)]],
    ),
    "asinh": Case(mpmath.asinh, 3, 3, [[(-4, 4), (-0.5, 0.5)]]),
    "acosh": Case(logs_of(mpmath.acosh, 1, np.inf), 3, 3, [[(1, 4), (1, 1.1)]]),
    "atanh": Case(logs_of(mpmath.atanh, -1, 1), 3, 3, [[(-1, 1), (-0.6, 0.6)]]),
    "cbrt": Case(cube, 1, 1, [R]),
    "rcbrt": Case(lambda x: 1 / cube(x), 1, 1, [R]),
    "sqrt": Case(root, 0.5, 0.5, [R]),
    "rsqrt": Case(lambda x: nan() if x < 0 else 1 / mpmath.sqrt(x), 2, 1, [[(0, 9)]]),
    "hypot": Case(norm, 2, 1, [R] * 2),
    "rhypot": Case(over(norm), 1, 1, [R] * 2),
    "norm3d": Case(norm, 1, 1, [R] * 3),
    "rnorm3d": Case(over(norm), 1, 1, [R] * 3),
    "norm4d": Case(norm, 1, 1, [R] * 4),
    "rnorm4d": Case(over(norm), 1, 1, [R] * 4),
    "pow": Case(
        power, 4, 1, [[(0, 4), (0.5, 2), (-4, 0)], [(-20, 20), (-300, 300), (-4, 4)]]
    ),
    "powi": Case(power, 4, 1, [[(0, 4), (-2, 2)]] * 2, whole=True),
    "sin": Case(mpmath.sin, 2, 2, [[(-4, 4), (-1000, 1000), (-1e9, 1e9)]], logs=False),
    "cos": Case(mpmath.cos, 2, 2, [[(-4, 4), (-1000, 1000), (-1e9, 1e9)]], logs=False),
    "tan": Case(mpmath.tan, 4, 3, [[(-4, 4), (-1000, 1000), (-1e9, 1e9)]], logs=False),
    "sinpi": Case(mpmath.sinpi, 1, 1, [[(-2, 2), (-1000, 1000)]]),
    "cospi": Case(mpmath.cospi, 1, 1, [[(-2, 2), (-1000, 1000)]]),
    "atan": Case(mpmath.atan, 2, 1, [[(-1, 1), (-9, 9)]]),
    "atan2": Case(mpmath.atan2, 3, 1, [[(-4, 4), (-1, 1)], [(-4, 4), (-1, 1)]]),
    "asin": Case(logs_of(mpmath.asin, -1, 1), 2, 1, [[(-1, 1), (-0.6, 0.6)]]),
    "acos": Case(logs_of(mpmath.acos, -1, 1), 2, 1, [[(-1, 1), (-0.6, 0.6), (0.9, 1)]]),
    "erf": Case(erf, 3, 2, [[(-4, 4), (-1, 1)]]),
    "erfc": Case(erfc, 4, 5, [[(-4, 4), (-1, 1), (4, 27)]]),
    "erfcx": Case(erfcx, 1, 5, [[(-4, 4), (-1, 1), (4, 90), (-26, -4)]]),
    "erfinv": Case(erfinv, 1, 4, [[(-1, 1), (-0.5, 0.5), (0.99, 1)]], logs=False),
    "erfcinv": Case(erfcinv, 1, 4, [[(0, 2), (0, 1e-3), (0, 1e-300)]], logs=False),
    "normcdf": Case(
        lambda x: erfc(-x / mpmath.sqrt(2)) / 2, 1, 5, [[(-9, 9), (-38, 0)]]
    ),
    "normcdfinv": Case(
        lambda x: -mpmath.sqrt(2) * erfcinv(2 * x),
        1,
        5,
        [[(0, 1), (0, 1e-3), (0.4, 0.6)]],
        logs=False,
    ),
    "tgamma": Case(
        gamma, 1, 5, [[(-4, 4), (4, 35), (-180, 172), (-25, 0)]], logs=False
    ),
    "lgamma": Case(lgamma, 1, 4, [[(0, 4), (4, 14), (0, 3000), (-2, 0)]], logs=False),
    "j0": Case(lambda x: mpmath.besselj(0, x), 1, 7, [SMALL], logs=False),
    "j1": Case(lambda x: mpmath.besselj(1, x), 1, 7, [SMALL], logs=False),
    "y0": Case(positive(lambda x: mpmath.bessely(0, x)), 1, 7, [SMALL], logs=False),
    "y1": Case(positive(lambda x: mpmath.bessely(1, x)), 1, 7, [SMALL], logs=False),
    "cyl_bessel_i0": Case(
        modified(0), 1, 6, [[(-9, 9), (-89, 90), (90, 714)]], logs=False
    ),
    "cyl_bessel_i1": Case(
        modified(1), 1, 6, [[(-9, 9), (-89, 90), (90, 714)]], logs=False
    ),
}
