"""Sines and tangents, and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import abs, fma, where
from ...target_info import is_ptx
from ._tables import (
    ASIN32,
    ASIN64,
    ATAN32,
    ATAN64,
    COSPI32,
    COSPI64,
    PI_2_32,
    PI_2_64,
    PI_4_64,
    PI_32,
    PI_64,
    SINPI32,
    SINPI64,
)
from ._typed import (
    FF,
    INF,
    F,
    bits,
    const,
    div,
    is_negative,
    near_inverse,
    near_root,
    no_number,
    root,
    two_product,
    two_sum,
    typed,
    with_sign,
)

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "acos", "asin", "atan", "atan2", "cos", "cospi", "sin", "sinpi", "tan",
]  # fmt: skip


# ---- of radians ----------------------------------------------------------------------


@typed(F)
def sin(x) -> tensor:
    """Sine of radians.

    Accuracy: 2 ulp.

    >>> tl.extra.libdevice.sin(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.8415, 0.9093, 0.1411]
    """
    return math.sin(x)


@typed(F)
def cos(x) -> tensor:
    """Cosine of radians.

    Accuracy: 2 ulp.

    >>> tl.extra.libdevice.cos(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 0.5403, -0.4161, -0.99]
    """
    return math.cos(x)


@typed(F)
def tan(x) -> tensor:
    """Tangent of radians.

    Accuracy: 4 ulp for float32, 3 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.tan(x)
    float32[4]: [0, 0.2553, 0.5463, 0.9316]
    """
    s = math.sin(x)
    c = math.cos(x)
    if x.dtype == tl.float32 and is_ptx():
        r = near_inverse(c)
        q = s * r
        # A correction that leaves -0 as it is.
        return fma(-fma(q, c, -s), r, q)
    else:
        return div(s, c)


# ---- of half turns -------------------------------------------------------------------


@jit
def turned(x, quarter: tl.constexpr):
    """sin(pi x + quarter pi/2): x = n / 2 + t exactly, t within a quarter."""
    wide: tl.constexpr = x.dtype == tl.float64
    a = x - 2.0 * math.rint(x * 0.5)
    n = math.rint(a + a)
    t = a - 0.5 * n
    z, z_low = two_product(t, t)
    pi: tl.constexpr = PI_64 if wide else PI_32
    s = math.polynomial(z, SINPI64) if wide else math.polynomial(z, SINPI32)
    p, p_low = two_product(t, const(pi[0], x))
    s = p + (p_low + t * (fma(z, s, const(pi[1], x))))
    c = math.polynomial(z, COSPI64) if wide else math.polynomial(z, COSPI32)
    first, low = two_product(z, const(COSPI64[0] if wide else COSPI32[0], x))
    rest = (
        z
        * z
        * (math.polynomial(z, COSPI64[1:]) if wide else math.polynomial(z, COSPI32[1:]))
    )
    one, more = two_sum(const(1.0, x), first)
    c = one + (
        more + (low + fma(z_low, const(COSPI64[0] if wide else COSPI32[0], x), rest))
    )
    q = n.to(tl.int32) + quarter
    r = where((q & 1) != 0, c, s)
    return where((q & 2) != 0, -r, r)


@typed(F)
def sinpi(x) -> tensor:
    """sin(pi x); a zero at whole numbers has the sign of x.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.sinpi(x)
    float32[4]: [0, 0.7071, 1, 0.7071]
    """
    r = turned(x, 0)
    return where(r == 0, with_sign(r, x), r)


@typed(F)
def cospi(x) -> tensor:
    """cos(pi x).

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 8
    >>> tl.extra.libdevice.cospi(x)
    float32[4]: [1, 0.9239, 0.7071, 0.3827]
    """
    r = turned(x, 1)
    return where(r == 0, 0.0, r)


# ---- inverses ------------------------------------------------------------------------


@jit
def _eighth(small, large):
    """The angle of small / large, within an eighth of a turn, as k pi/4 + t; float64."""
    mid = small > large * 0.4142135623730951
    n, n_low = two_sum(small, where(mid, -large, 0.0))
    d, d_low = two_sum(large, where(mid, small, 0.0))
    t = div(n, d)
    low = div(fma(-t, d, n) + fma(-t, d_low, n_low), d)
    z = t * t
    p = math.polynomial(z, ATAN64)
    return where(mid, 1.0, 0.0).to(small.dtype), t, fma(t * z, p, low)


@jit
def _angle(y, x):
    """The angle of the point (x, y) from 0 to pi; both may be infinite; float64."""
    b = abs(x)
    a = abs(y)
    steep = a > b
    large = where(steep, a, b)
    small = where(steep, b, a)
    both = large == INF
    small = where(both, where(small == INF, 1.0, 0.0), small)
    large = where(both | (large == 0), 1.0, large)
    # Sums of the largest numbers overflow.
    f = where(large > 2.0**1020, 0.25, 1.0).to(x.dtype)
    k, t, more = _eighth(small * f, large * f)
    back = is_negative(x)
    k = where(steep, 2.0 - k, k)
    k = where(back, 4.0 - k, k)
    turn = steep ^ back
    t = where(turn, -t, t)
    more = where(turn, -more, more)
    base, low = two_product(k, const(PI_4_64[0], x))
    low = fma(k, const(PI_4_64[1], x), low)
    s, e = two_sum(base, t)
    return s + (e + (low + more))


@jit
def _angle_of_ratio(t):
    """The angle whose tangent is t, a float32 in 0 .. 1."""
    z = t * t
    return fma(t * z, math.polynomial(z, ATAN32), t)


@jit
def _angle32(y, x):
    """The angle of the point (x, y) from 0 to pi, of float32."""
    b = abs(x)
    a = abs(y)
    steep = a > b
    large = math.maximum(where(steep, a, b), const(2.0**-149, x))
    small = where(steep, b, a)
    # A power of two that brings `large` into 1 .. 2^16, and what is subnormal near it.
    f = (0x7F000000 - (bits(large) & 0x78000000)).to(tl.float32, bitcast=True)
    d = large * f
    n = small * f
    r = near_inverse(d)
    t = n * r
    t = fma(fma(-t, d, n), r, t)
    t = where(large == INF, where(small == INF, 1.0, 0.0), t)
    t = _angle_of_ratio(t)
    t = where(steep, (PI_2_32[0] - t) + PI_2_32[1], t)
    return where(is_negative(x), (PI_32[0] - t) + PI_32[1], t)


@typed(F)
def atan(x) -> tensor:
    """Arc tangent.

    Accuracy: 2 ulp for float32, 1 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.atan(x)
    float32[4]: [0, 0.245, 0.4636, 0.6435]
    """
    if x.dtype == tl.float64:
        return with_sign(_angle(x, const(1.0, x)), x)
    else:
        a = abs(x)
        far = a > 1.0
        t = _angle_of_ratio(where(far, near_inverse(a), a))
        return with_sign(where(far, (PI_2_32[0] - t) + PI_2_32[1], t), x)


@typed(FF)
def atan2(y, x) -> tensor:
    """The angle of the point (x, y), from -pi to pi.

    Accuracy: 3 ulp for float32, 1 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.atan2(x, x + 1.0)
    float32[4]: [0, 0.4636, 0.588, 0.6435]
    """
    r = _angle(y, x) if x.dtype == tl.float64 else _angle32(y, x)
    return where((x != x) | (y != y), x + y, with_sign(r, y))


@jit
def _arc(x):
    """For |x| to 1/2 asin(x) is s + p; beyond, acos(|x|) is 2 (s + p); float64."""
    a = abs(x)
    big = a > 0.5
    z = where(big, (1.0 - a) * 0.5, a * a)
    s = where(big, root(where(big, z, 1.0)), a)
    low = div(fma(-s, s, z), where(s > 0, s + s, 1.0))
    p = math.polynomial(z, ASIN64)
    return s, fma(s * z, p, where(big, low, 0.0)), big


@jit
def _arc32(x):
    """The same of float32 as z, s, big: asin(s) is s + s z P(z)."""
    a = abs(x)
    big = a > 0.5
    z = where(big, fma(a, -0.5, 0.5), a * a)
    return z, where(big, near_root(z), a), big


@jit
def _turned_arc(z, s, base):
    """base + asin-like of s, the square of whose sine is z; base a multiple of pi/2."""
    p = fma(s * z, math.polynomial(z, ASIN32), base * (PI_32[1] / PI_32[0]))
    return base + (s + p)


@typed(F)
def asin(x) -> tensor:
    """Arc sine.

    Accuracy: 2 ulp for float32, 1 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.asin(x)
    float32[4]: [0, 0.2527, 0.5236, 0.8481]
    """
    if x.dtype == tl.float64:
        s, p, big = _arc(x)
        h, low = two_sum(const(PI_2_64[0], x), -2.0 * s)
        far = h + (low + fma(p, -2.0, const(PI_2_64[1], x)))
        return with_sign(where(big, far, s + p), x)
    else:
        z, s, big = _arc32(x)
        base = where(big, PI_2_32[0], 0.0)
        return with_sign(_turned_arc(z, where(big, s * -2.0, s), base), x)


@typed(F)
def acos(x) -> tensor:
    """Arc cosine.

    Accuracy: 2 ulp for float32, 1 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.acos(x)
    float32[4]: [1.571, 1.318, 1.047, 0.7227]
    """
    # pi/2 - asin(x), 2 asin(..) or pi - 2 asin(..)
    minus = is_negative(x)
    if x.dtype == tl.float64:
        s, p, big = _arc(x)
        two = where(big, 2.0, 1.0).to(x.dtype)
        down = big ^ minus ^ True
        t = where(down, -s, s) * two
        q = where(down, -p, p) * two
        k = where(big, where(minus, 2.0, 0.0), 1.0).to(x.dtype)
        h, low = two_sum(k * PI_2_64[0], t)
        return h + (low + (k * PI_2_64[1] + q))
    else:
        z, s, big = _arc32(x)
        s = where(big, s + s, -s)
        s = where(minus, -s, s)
        base = where(big, where(minus, PI_32[0], 0.0), PI_2_32[0])
        return _turned_arc(z, s, base)
