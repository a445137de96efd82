"""Sines and tangents, and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import abs, fma, where
from ._tables import (
    ASIN32,
    ASIN64,
    ATAN32,
    ATAN64,
    COSPI32,
    COSPI64,
    PI_2_32,
    PI_2_64,
    PI_4_32,
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
    const,
    div,
    is_negative,
    no_number,
    root,
    two_product,
    two_sum,
    typed,
    with_sign,
)

if TYPE_CHECKING:
    from ...types import tensor


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
    return div(math.sin(x), math.cos(x))


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
    """The angle of small / large, within an eighth of a turn, as k pi/4 + t."""
    wide: tl.constexpr = small.dtype == tl.float64
    mid = small > large * 0.4142135623730951
    n, n_low = two_sum(small, where(mid, -large, 0.0))
    d, d_low = two_sum(large, where(mid, small, 0.0))
    t = div(n, d)
    low = div(fma(-t, d, n) + fma(-t, d_low, n_low), d)
    z = t * t
    p = math.polynomial(z, ATAN64) if wide else math.polynomial(z, ATAN32)
    return where(mid, 1.0, 0.0).to(small.dtype), t, fma(t * z, p, low)


@jit
def _angle(y, x):
    """The angle of the point (x, y) from 0 to pi; both may be infinite."""
    wide: tl.constexpr = x.dtype == tl.float64
    b = abs(x)
    a = abs(y)
    steep = a > b
    large = where(steep, a, b)
    small = where(steep, b, a)
    both = large == INF
    small = where(both, where(small == INF, 1.0, 0.0), small)
    large = where(both | (large == 0), 1.0, large)
    # Sums of the largest numbers overflow.
    f = where(large > (2.0**1020 if wide else 2.0**120), 0.25, 1.0).to(x.dtype)
    k, t, more = _eighth(small * f, large * f)
    back = is_negative(x)
    k = where(steep, 2.0 - k, k)
    k = where(back, 4.0 - k, k)
    turn = steep ^ back
    t = where(turn, -t, t)
    more = where(turn, -more, more)
    pi: tl.constexpr = PI_4_64 if wide else PI_4_32
    base, low = two_product(k, const(pi[0], x))
    low = fma(k, const(pi[1], x), low)
    s, e = two_sum(base, t)
    return s + (e + (low + more))


@typed(F)
def atan(x) -> tensor:
    """Arc tangent.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.atan(x)
    float32[4]: [0, 0.245, 0.4636, 0.6435]
    """
    return with_sign(_angle(x, const(1.0, x)), x)


@typed(FF)
def atan2(y, x) -> tensor:
    """The angle of the point (x, y), from -pi to pi.

    Accuracy: 1 ulp; float32 on GPUs: 2 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.atan2(x, x + 1.0)
    float32[4]: [0, 0.4636, 0.588, 0.6435]
    """
    r = with_sign(_angle(y, x), y)
    return where((x != x) | (y != y), x + y, r)


@jit
def _arc(x):
    """For |x| to 1/2 asin(x) is s + p; beyond, acos(|x|) is 2 (s + p)."""
    wide: tl.constexpr = x.dtype == tl.float64
    a = abs(x)
    big = a > 0.5
    z = where(big, (1.0 - a) * 0.5, a * a)
    s = where(big, root(where(big, z, 1.0)), a)
    low = div(fma(-s, s, z), where(s > 0, s + s, 1.0))
    p = math.polynomial(z, ASIN64) if wide else math.polynomial(z, ASIN32)
    return s, fma(s * z, p, where(big, low, 0.0)), big


@typed(F)
def asin(x) -> tensor:
    """Arc sine.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.asin(x)
    float32[4]: [0, 0.2527, 0.5236, 0.8481]
    """
    s, p, big = _arc(x)
    pi: tl.constexpr = PI_2_64 if x.dtype == tl.float64 else PI_2_32
    h, low = two_sum(const(pi[0], x), -2.0 * s)
    far = h + (low + fma(p, -2.0, const(pi[1], x)))
    return with_sign(where(big, far, s + p), x)


@typed(F)
def acos(x) -> tensor:
    """Arc cosine.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.acos(x)
    float32[4]: [1.571, 1.318, 1.047, 0.7227]
    """
    s, p, big = _arc(x)
    # pi/2 - asin(x), 2 asin(..) or pi - 2 asin(..)
    minus = is_negative(x)
    two = where(big, 2.0, 1.0).to(x.dtype)
    down = big ^ minus ^ True
    t = where(down, -s, s) * two
    q = where(down, -p, p) * two
    wide: tl.constexpr = x.dtype == tl.float64
    pi: tl.constexpr = PI_2_64 if wide else PI_2_32
    k = where(big, where(minus, 2.0, 0.0), 1.0).to(x.dtype)
    h, low = two_sum(k * pi[0], t)
    return h + (low + (k * pi[1] + q))
