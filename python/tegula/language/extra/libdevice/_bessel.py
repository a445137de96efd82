"""Bessel functions. float32 is computed in float64.

Up to 8 each is a polynomial times what makes its zeros exact; from there Hankel's form, the
sine and cosine of x with two slowly varying factors. Higher orders follow by recurrence:
upwards where that is stable, else downwards from an order where nothing is left (Miller).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import abs, where
from ...reduction import max as largest
from ._exponential import exp_sum, log_1_plus
from ._tables_special import (
    I0A,
    I0B,
    I1A,
    I1B,
    J0A,
    J0B,
    J0Z,
    J1A,
    J1B,
    J1Z,
    P0,
    P1,
    Q0,
    Q1,
    Y0A,
    Y0B,
    Y0C,
    Y0Z,
    Y1A,
    Y1B,
    Y1Z,
)
from ._typed import INF, F, no_number, typed, with_sign

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "cyl_bessel_i0", "cyl_bessel_i1", "j0", "j1", "jn", "y0", "y1", "yn",
]  # fmt: skip

TWO_OVER_PI = tl.constexpr(0.6366197723675814)


@jit
def _from(x, zero: tl.constexpr):
    """x less a zero that is two numbers."""
    return (x - zero[0]) - zero[1]


@jit
def _hankel(a, p_of: tl.constexpr, q_of: tl.constexpr):
    """Two factors, and sin - cos and sin + cos over sqrt(pi a), for a from 8 on."""
    v = 1.0 / a
    u = v * v - 0.00782472613458529
    p = math.polynomial(u, p_of)
    q = math.polynomial(u, q_of) * v
    s = math.sin(a)
    c = math.cos(a)
    f = math.sqrt(0.3183098861837907 * v)
    return p, q, (s - c) * f, (s + c) * f


@jit
def _j0(x):
    a = abs(x)
    w = a * a
    low = _from(a, J0Z[0]) * (a + J0Z[0][0]) * math.polynomial(w - 8.0, J0A)
    mid = _from(a, J0Z[1]) * math.polynomial(a - 6.0, J0B)
    far = (a >= 8.0) & (a < INF)
    p, q, less, more = _hankel(where(far, a, 8.0), P0, Q0)
    r = where(a < 4.0, low, where(a < 8.0, mid, p * more - q * less))
    return where(x != x, x, where(a < INF, r, 0.0))


@jit
def _j1(x):
    a = abs(x)
    w = a * a
    low = a * (_from(a, J1Z[0]) * (a + J1Z[0][0])) * math.polynomial(w - 12.5, J1A)
    mid = _from(a, J1Z[1]) * math.polynomial(a - 6.5, J1B)
    far = (a >= 8.0) & (a < INF)
    p, q, less, more = _hankel(where(far, a, 8.0), P1, Q1)
    r = where(a < 5.0, low, where(a < 8.0, mid, p * less + q * more))
    r = where(x < 0, -r, r)
    return where((x != x) | (x == 0), x, where(a < INF, r, 0.0))


@jit
def _log_from(x, zero: tl.constexpr, log_zero: tl.constexpr):
    """log(x / zero), accurate near the zero."""
    near = log_1_plus(_from(x, zero) / zero[0])
    return where(x < zero[0] * 0.5, math.log(x) - log_zero, near)


@jit
def _y0(x):
    b = where((x > 0) & (x < 2.4), x, 1.0)
    j = _from(b, J0Z[0]) * (b + J0Z[0][0]) * math.polynomial(b * b - 8.0, J0A)
    log = _log_from(b, Y0Z[0], -0.11252280788079415) * TWO_OVER_PI
    rest = _from(b, Y0Z[0]) * (b + Y0Z[0][0]) * math.polynomial(b * b - 2.9, Y0A)
    low = log * j + rest
    mid = _from(x, Y0Z[1]) * math.polynomial(x - 3.95, Y0B)
    high = _from(x, Y0Z[2]) * math.polynomial(x - 6.75, Y0C)
    far = (x >= 8.0) & (x < INF)
    p, q, less, more = _hankel(where(far, x, 8.0), P0, Q0)
    r = where(x < 5.5, mid, where(x < 8.0, high, p * less + q * more))
    r = where(x < 2.4, low, r)
    r = where(x == 0, -INF, where(x < 0, no_number(x), r))
    return where(x != x, x, where(x == INF, 0.0, r))


@jit
def _y1(x):
    b = where((x > 0) & (x < 3.8), x, 1.0)
    j = b * (_from(b, J1Z[0]) * (b + J1Z[0][0])) * math.polynomial(b * b - 12.5, J1A)
    log = _log_from(b, Y1Z[0], 0.7871571181569951) * TWO_OVER_PI
    rest = _from(b, Y1Z[0]) * (b + Y1Z[0][0]) * math.polynomial(b * b - 7.25, Y1A)
    low = log * j + rest / b
    mid = _from(x, Y1Z[1]) * math.polynomial(x - 5.9, Y1B)
    far = (x >= 8.0) & (x < INF)
    p, q, less, more = _hankel(where(far, x, 8.0), P1, Q1)
    r = where(x < 3.8, low, where(x < 8.0, mid, q * less - p * more))
    r = where(x == 0, -INF, where(x < 0, no_number(x), r))
    return where(x != x, x, where(x == INF, 0.0, r))


@typed(F)
def j0(x) -> tensor:
    """Bessel function of the first kind of order 0.

    Accuracy: 1 ulp for float32, 7 ulp for float64; from 8 on 2^-24 and 2^-51 absolute.

    >>> tl.extra.libdevice.j0(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 0.7652, 0.2239, -0.2601]
    """
    return _j0(x.to(tl.float64)).to(x.dtype)


@typed(F)
def j1(x) -> tensor:
    """Bessel function of the first kind of order 1.

    Accuracy: 1 ulp for float32, 7 ulp for float64; from 8 on 2^-24 and 2^-51 absolute.

    >>> tl.extra.libdevice.j1(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.4401, 0.5767, 0.3391]
    """
    return _j1(x.to(tl.float64)).to(x.dtype)


@typed(F)
def y0(x) -> tensor:
    """Bessel function of the second kind of order 0; NaN below 0.

    Accuracy: 1 ulp for float32, 7 ulp for float64; from 8 on 2^-24 and 2^-51 absolute.

    >>> tl.extra.libdevice.y0(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0.08826, 0.5104, 0.3769]
    """
    return _y0(x.to(tl.float64)).to(x.dtype)


@typed(F)
def y1(x) -> tensor:
    """Bessel function of the second kind of order 1; NaN below 0.

    Accuracy: 1 ulp for float32, 7 ulp for float64; from 8 on 2^-24 and 2^-51 absolute.

    >>> tl.extra.libdevice.y1(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, -0.7812, -0.107, 0.3247]
    """
    return _y1(x.to(tl.float64)).to(x.dtype)


@jit
def _highest(n):
    if len(n.shape) == 0:
        return n
    else:
        return largest(n)


@jit
def _sign_of_order(n, r):
    """Of order -n it is r for even n, else -r."""
    return where((n < 0) & ((n & 1) != 0), -r, r)


@jit
def _jn(n, x):
    m = where(n < 0, -n, n)
    top = _highest(m)
    a = abs(x)
    b = where((a > 0) & (a < INF), a, 1.0)
    # Upwards where x is beyond the order.
    low = _j0(b)
    up = _j1(b)
    term = x * 0.0 + 1.0
    for k in range(1, top):
        go = k < m
        next = (2.0 * k) / b * up - low
        low = where(go, up, low)
        up = where(go, next, up)
    # The first term of the series, for tiny x.
    for k in range(1, top + 1):
        term = where(k <= m, term * (b * 0.5 / k), term)
    # Downwards; the even orders add up to 1.
    start = 2 * ((top + math.sqrt(160.0 * (top + 1).to(tl.float64)).to(tl.int32)) // 2)
    above = x * 0.0
    here = x * 0.0 + 1.0
    total = x * 0.0
    found = x * 0.0
    c = where(b < 2.0**-30, 1.0, b)
    for i in range(start):
        k = start - i
        below = (2.0 * k) / c * here - above
        above = here
        here = below
        big = abs(here) > 2.0**400
        f = where(big, 2.0**-400, 1.0).to(tl.float64)
        here = here * f
        above = above * f
        total = total * f
        found = found * f
        # here is of order k - 1 now
        total = where(((k - 1) & 1) == 0, total + here, total)
        found = where(k - 1 == m, here, found)
    total = 2.0 * total - here
    r = where(b > m.to(tl.float64), up, where(b < 2.0**-30, term, found / total))
    r = where(m == 0, low, where(m == 1, where(b < 2.0**-30, term, up), r))
    r = where((x < 0) & ((m & 1) != 0), -r, r)
    r = where(a == 0, where(m == 0, 1.0, 0.0), where(a == INF, 0.0, r))
    return where(x != x, x, _sign_of_order(n, r))


@jit
def _yn(n, x):
    m = where(n < 0, -n, n)
    top = _highest(m)
    low = _y0(x)
    up = _y1(x)
    for k in range(1, top):
        go = (k < m) & (up > -INF)
        next = (2.0 * k) / x * up - low
        low = where(go, up, low)
        up = where(go, next, up)
    r = where(m == 0, low, up)
    r = where(x == INF, 0.0, where(x < 0, no_number(x), r))
    return where(x != x, x, _sign_of_order(n, r))


@typed("i32 f32, i32 f64")
def jn(n, x) -> tensor:
    """Bessel function of the first kind of order n, an int32.

    Accuracy: 2^-22 absolute for float32, 2^-42 for float64.
    Cost:     grows with the largest n of the block.

    >>> tl.extra.libdevice.jn(2, tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.1149, 0.3528, 0.4861]
    """
    return _jn(n, x.to(tl.float64)).to(x.dtype)


@typed("i32 f32, i32 f64")
def yn(n, x) -> tensor:
    """Bessel function of the second kind of order n, an int32; NaN below 0.

    Accuracy: 2^-20 of the result for float32, 2^-42 for float64, and as much absolute.
    Cost:     grows with the largest n of the block.

    >>> tl.extra.libdevice.yn(2, tl.load(x_ptr + tl.arange(0, 4)) + 1.0)
    float32[4]: [-1.651, -0.6174, -0.1604, 0.2159]
    """
    return _yn(n, x.to(tl.float64)).to(x.dtype)


@jit
def _modified(a, near_of: tl.constexpr, far_of: tl.constexpr):
    near = math.polynomial(a * a, near_of)
    b = where((a > 8.0) & (a < INF), a, 8.0)
    p = math.polynomial(1.0 / b - 0.0625, far_of)
    far = exp_sum(b, 0.0, -8) * (p / math.sqrt(b)) * 256.0
    return near, where(a < INF, far, a)


@typed(F)
def cyl_bessel_i0(x) -> tensor:
    """Modified Bessel function of the first kind of order 0.

    Accuracy: 1 ulp for float32, 6 ulp for float64.

    >>> tl.extra.libdevice.cyl_bessel_i0(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 1.266, 2.28, 4.881]
    """
    a = abs(x.to(tl.float64))
    near, far = _modified(a, I0A, I0B)
    return where(a > 8.0, far, near).to(x.dtype)


@typed(F)
def cyl_bessel_i1(x) -> tensor:
    """Modified Bessel function of the first kind of order 1.

    Accuracy: 1 ulp for float32, 6 ulp for float64.

    >>> tl.extra.libdevice.cyl_bessel_i1(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.5652, 1.591, 3.953]
    """
    d = x.to(tl.float64)
    a = abs(d)
    near, far = _modified(a, I1A, I1B)
    return with_sign(where(a > 8.0, far, near * a), d).to(x.dtype)
