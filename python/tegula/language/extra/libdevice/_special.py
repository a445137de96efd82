"""The error function and its kin, and the gamma function. Most of float32 is computed in
float64.

The scaled complement erfcx is one polynomial for all of 0 .. infinity (after Shepherd and
Laframboise, 1981); the complement, and the normal distribution, are that times the
exponential of a square that is exact in two numbers. The inverses are a fit to seven digits
and one step of third order. Gamma is a polynomial of its logarithm near 1 and 2, products
that carry their error up to 12, and Stirling's series from there, in two numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import abs, fma, where
from ._circular import turned
from ._exponential import exp2_exact, exp_sum, log_1_plus, log_sum
from ._tables import LOG2E_32
from ._tables_special import (
    ERF,
    ERF32,
    ERFC32,
    ERFCX,
    INV_MID,
    INV_TAIL1,
    INV_TAIL2,
    LGAMMA,
    STIRLING,
)
from ._typed import (
    INF,
    F,
    const,
    is_negative,
    near_inverse,
    no_number,
    two_product,
    two_sum,
    typed,
    with_sign,
)

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "erf", "erfc", "erfcinv", "erfcx", "erfinv", "lgamma", "normcdf", "normcdfinv",
    "tgamma",
]  # fmt: skip


# ---- the error function --------------------------------------------------------------


@jit
def _erfcx(a):
    """e^(a^2) erfc(a) for a from 0 on."""
    t = where(a < 2.0**100, (a - 4.0) / (where(a < 2.0**100, a, 1.0) + 4.0), 1.0)
    return math.polynomial(t, ERFCX) * 0.5 / (a + 0.5)


@jit
def _tail(a, half: tl.constexpr):
    """e^(-a^2) for a from 0 on, times 2^64; with half, e^(-a^2 / 2)."""
    b = where(a < 50.0, a, 50.0)
    p, low = two_product(b, b)
    f: tl.constexpr = -0.5 if half else -1.0
    return exp_sum(p * f, low * f, 64)


@jit
def _erfc(x):
    a = abs(x)
    r = _tail(a, False) * _erfcx(a) * 2.0**-64
    return where(x != x, x, where(is_negative(x), 2.0 - r, r))


@jit
def _erfc32(x):
    a = math.minimum(abs(x), 11.0)
    n, d = a - 3.0, a + 3.0
    n_low, d_low = a - (n + 3.0), a - (d - 3.0)
    r = near_inverse(d)
    r = fma(fma(-d, r, 1.0), r, r)
    t = n * r
    t = fma(fma(-t, d, n) + fma(-t, d_low, n_low), r, t)
    # 1 / (a + 3) is r + left: six roundings would be more than four units.
    left = fma(-d_low, r, fma(-d, r, 1.0)) * r
    f = math.polynomial(t, ERFC32)
    q = f * r
    left = fma(f, left, fma(f, r, -q))
    p, low = two_product(a, a)
    h, more = two_product(p, const(-LOG2E_32[0], x))
    more = fma(low, -LOG2E_32[0], fma(p, const(-LOG2E_32[1], x), more))
    e = exp2_exact(h, more, 0)
    r = fma(left, e, q * e)
    r = where(is_negative(x), 2.0 - r, r)
    r = where(a < 0.7, fma(-x, math.polynomial(p, ERF32), 1.0), r)
    return where(x != x, x, r)


@jit
def _erf(x):
    a = abs(x)
    z = a * a
    near = fma(a * z, math.polynomial(z, ERF), 1.1283791670955126 * a)
    return with_sign(where(a < 0.75, near, 1.0 - _erfc(where(a < 0.75, 0.75, a))), x)


@typed(F)
def erf(x) -> tensor:
    """The error function.

    Accuracy: 3 ulp for float32, 2 ulp for float64.

    >>> tl.extra.libdevice.erf(tl.load(x_ptr + tl.arange(0, 4)) / 2)
    float32[4]: [0, 0.5205, 0.8427, 0.9661]
    """
    if x.dtype == tl.float32:
        return math.erf(x)
    else:
        return _erf(x)


@typed(F)
def erfc(x) -> tensor:
    """1 - erf(x), accurate for large x.

    Accuracy: 4 ulp for float32, 5 ulp for float64.

    >>> tl.extra.libdevice.erfc(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 0.1573, 0.004678, 2.209e-05]
    """
    return _erfc32(x) if x.dtype == tl.float32 else _erfc(x)


@typed(F)
def erfcx(x) -> tensor:
    """e^(x^2) erfc(x).

    Accuracy: 1 ulp for float32, 5 ulp for float64.

    >>> tl.extra.libdevice.erfcx(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 0.4276, 0.2554, 0.179]
    """
    d = x.to(tl.float64)
    a = abs(d)
    r = _erfcx(a)
    b = where(a < 50.0, a, 50.0)
    p, low = two_product(b, b)
    minus = 2.0 * exp_sum(p, low, 0) - where(a < 50.0, r, 0.0)
    return where(x != x, d, where(is_negative(d), minus, r)).to(x.dtype)


@jit
def _erfinv_near(x):
    """For |x| to 1/2."""
    w = -log_1_plus(-(x * x))
    y = x * math.polynomial(w - 2.5, INV_MID)
    t = (_erf(y) - x) * 0.886226925452758 * exp_sum(y * y, 0.0, 0)
    return y - (t - y * t * t)


@jit
def _erfcinv_tail(q):
    """For q above 0 and to 1/2: a step on the logarithm of erfc, which never underflows."""
    low_q = q < 2.0**-1022
    log_q = math.log(where(low_q, q * 2.0**64, q)) - where(low_q, 44.3614195558365, 0.0)
    w = -(log_q + math.log(2.0 - q))
    s = math.sqrt(w)
    mid = (1.0 - q) * math.polynomial(where(w < 5.0, w, 5.0) - 2.5, INV_MID)
    tail = s * math.polynomial(where(s < 6.0, s, 6.0) - 4.0, INV_TAIL1)
    far = s * math.polynomial(1.0 / where(s < 6.0, 6.0, s) - 0.1, INV_TAIL2)
    y = where(w < 5.0, mid, where(s < 6.0, tail, far))
    e = _erfcx(y)
    p, p_low = two_product(y, y)
    c = 1.1283791670955126 / e
    t = ((math.log(e) - (p + log_q)) - p_low) / c
    return y + (t + (y - 0.5 * c) * t * t)


@jit
def _erfinv(x):
    a = abs(x)
    near = _erfinv_near(where(a < 0.5, x, 0.0))
    far = _erfcinv_tail(where((a >= 0.5) & (a < 1.0), 1.0 - a, 0.5))
    r = where(a < 0.5, near, with_sign(far, x))
    r = where(a == 1.0, with_sign(far * 0.0 + INF, x), r)
    return where(a <= 1.0, r, no_number(x))


@jit
def _erfcinv(q):
    small = where(q > 1.0, 2.0 - q, q)
    tail = _erfcinv_tail(where((small > 0) & (small < 0.5), small, 0.5))
    near = _erfinv_near(where((q >= 0.5) & (q <= 1.5), 1.0 - q, 0.0))
    r = where((q >= 0.5) & (q <= 1.5), near, where(q > 1.0, -tail, tail))
    r = where(q == 0, INF, where(q == 2.0, -INF, r))
    return where((q >= 0) & (q <= 2.0), r, no_number(q))


@typed(F)
def erfinv(x) -> tensor:
    """The inverse of erf.

    Accuracy: 1 ulp for float32, 4 ulp for float64.

    >>> tl.extra.libdevice.erfinv(tl.load(x_ptr + tl.arange(0, 4)) / 4)
    float32[4]: [0, 0.2253, 0.4769, 0.8134]
    """
    return _erfinv(x.to(tl.float64)).to(x.dtype)


@typed(F)
def erfcinv(x) -> tensor:
    """The inverse of erfc.

    Accuracy: 1 ulp for float32, 4 ulp for float64.

    >>> tl.extra.libdevice.erfcinv(tl.load(x_ptr + tl.arange(0, 4)) / 2)
    float32[4]: [inf, 0.4769, 0, -0.4769]
    """
    return _erfcinv(x.to(tl.float64)).to(x.dtype)


@typed(F)
def normcdf(x) -> tensor:
    """The normal distribution: how much of it is below x.

    Accuracy: 1 ulp for float32, 5 ulp for float64.

    >>> tl.extra.libdevice.normcdf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0.5, 0.8413, 0.9772, 0.9987]
    """
    d = x.to(tl.float64)
    a = abs(d)
    r = _tail(a, True) * _erfcx(a * 0.7071067811865476) * 2.0**-65
    return where(x != x, d, where(d > 0, 1.0 - r, r)).to(x.dtype)


@typed(F)
def normcdfinv(x) -> tensor:
    """The inverse of normcdf.

    Accuracy: 1 ulp for float32, 5 ulp for float64.

    >>> tl.extra.libdevice.normcdfinv(tl.load(x_ptr + tl.arange(0, 4)) / 4)
    float32[4]: [-inf, -0.6745, 0, 0.6745]
    """
    d = x.to(tl.float64)
    r = -1.4142135623730951 * _erfcinv(d + d)
    return where(r == 0, 0.0, r).to(x.dtype)


# ---- gamma ---------------------------------------------------------------------------


@jit
def _log_near(t):
    """lgamma in 0.75 .. 2.5."""
    r = (t - 1.0) * (t - 2.0) * math.polynomial(t - 1.625, LGAMMA)
    return where(r == 0, 0.0, r)


@jit
def _brought_down(x):
    """gamma(x) = gamma(t) p for x to 12: t in 0.75 .. 2.5, p exact in two numbers."""
    t = x
    p = x * 0.0 + 1.0
    low = x * 0.0
    for _ in tl.static_range(10):
        more = t >= 2.5
        t = where(more, t - 1.0, t)
        q, e = two_product(p, where(more, t, 1.0))
        low = fma(low, where(more, t, 1.0), e)
        p = q
    return where(t < 0.75, t + 1.0, t), p, low


@jit
def _stirling(x):
    """lgamma(x) from 12 on, as the sum of two numbers."""
    h, low = log_sum(x)
    y = x - 0.5
    p, p_low = two_product(y, h)
    p_low = fma(y, low, p_low)
    s, e = two_sum(p, -x)
    s, more = two_sum(s, 0.9189385332046728 + s * 0.0)
    v = 1.0 / x
    series = v * math.polynomial(v * v, STIRLING)
    return s, (e + more) + (p_low - 3.8782941580672414e-17) + series


@jit
def _gamma(a):
    """gamma of a positive a."""
    large = a >= 12.0
    t, p, low = _brought_down(where(large, 1.0, a))
    near = exp_sum(_log_near(t), 0.0, 0)
    near = near * p + near * low
    near = where(a < 0.75, near / a, near)
    h, rest = _stirling(where(large & (a < 200.0), a, 12.0))
    return where(a < 12.0, near, where(a < 200.0, exp_sum(h, rest, 0), INF))


@jit
def _tgamma(x):
    a = abs(x)
    plus = _gamma(a)
    # gamma(-a) = -pi / (a sin(pi a) gamma(a)); the factors alone may leave the range.
    sine = turned(a, 0)
    h, rest = _stirling(where((a >= 12.0) & (a < 200.0), a, 12.0))
    far = exp_sum(-h, -rest, 64) / (a * sine) * -3.141592653589793 * 2.0**-64
    minus = where(a < 12.0, -3.141592653589793 / (a * sine * plus), far)
    minus = where(a < 200.0, minus, where(sine < 0, 0.0, -0.0))
    minus = where((math.floor(x) == x) | (a == INF), no_number(x), minus)
    r = where(x > 0, plus, minus)
    return where(x != x, x, where(a < 2.0**-60, 1.0 / x, r))


@jit
def _lgamma_plus(a):
    """lgamma of a positive a."""
    large = a >= 12.0
    t, p, low = _brought_down(where(large, 1.0, a))
    near = _log_near(t)
    up = near + (math.log(p) + low / p)
    near = where(a < 0.75, near - math.log(a), where(a < 2.5, near, up))
    h, rest = _stirling(where(large & (a < 2.0**1000), a, 12.0))
    far = h + rest
    log_a = math.log(where(large, a, 12.0))
    beyond = a * (log_a - 1.0)  # the rest is nothing there
    far = where(a < 2.0**1000, far, beyond)
    return where(large, where(a < INF, far, a), near)


@jit
def _lgamma(x):
    a = abs(x)
    plus = _lgamma_plus(a)
    sine = abs(turned(a, 0))
    minus = (1.1447298858494002 - math.log(a * sine)) - plus
    minus = where((math.floor(x) == x) | (a == INF), INF, minus)
    r = where(x > 0, plus, minus)
    return where(x != x, x, where(a < 2.0**-60, -math.log(a), r))


@typed(F)
def tgamma(x) -> tensor:
    """The gamma function.

    Accuracy: 1 ulp for float32, 5 ulp for float64.

    >>> tl.extra.libdevice.tgamma(tl.load(x_ptr + tl.arange(0, 4)) + 1.5)
    float32[4]: [0.8862, 1.329, 3.323, 11.63]
    """
    return _tgamma(x.to(tl.float64)).to(x.dtype)


@typed(F)
def lgamma(x) -> tensor:
    """The logarithm of gamma's magnitude.

    Accuracy: 1 ulp for float32, 4 ulp for float64; near its zeros below -2 the error is
    that of 10.

    >>> tl.extra.libdevice.lgamma(tl.load(x_ptr + tl.arange(0, 4)) + 1.5)
    float32[4]: [-0.1208, 0.2847, 1.201, 2.454]
    """
    return _lgamma(x.to(tl.float64)).to(x.dtype)
