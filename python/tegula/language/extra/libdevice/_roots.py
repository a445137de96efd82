"""Roots, and lengths of vectors of two to four numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import abs, fma, where
from ...target_info import is_ptx
from ._tables import CBRT
from ._typed import (
    FF,
    INF,
    F,
    add,
    bits,
    const,
    div,
    near_inverse,
    near_root,
    of_assembly,
    power_of_two,
    root,
    two_product,
    typed,
    unit,
    with_sign,
)

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "cbrt", "hypot", "norm3d", "norm4d", "rcbrt", "rcp64h", "rhypot", "rnorm3d",
    "rnorm4d", "rsqrt", "rsqrt_rn", "sqrt",
]  # fmt: skip


# ---- roots ---------------------------------------------------------------------------


@jit
def cbrt_sum(a):
    """The cube root of a positive a as the sum of two numbers, and what it is scaled by:
    m in 1 .. 8 is what the root is taken of."""
    m, e = unit(a)
    third = (e + 3072) // 3 - 1024
    rest = e - 3 * third
    m = m * where(rest == 0, 1.0, where(rest == 1, 2.0, 4.0)).to(a.dtype)
    y = math.polynomial(m, CBRT)
    for _ in tl.static_range(3 if a.dtype == tl.float64 else 2):
        c = y * y * y
        y = y * div(c + (m + m), c + c + m)
    s, s_low = two_product(y, y)
    c, c_low = two_product(s, y)
    low = div((m - c) - fma(s_low, y, c_low), 3.0 * s)
    return y, low, third


@typed(F)
def cbrt(x) -> tensor:
    """Cube root.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.cbrt(x)
    float32[4]: [0, 1, 1.26, 1.442]
    """
    a = abs(x)
    usual = (a > 0) & (a < INF)
    if x.dtype == tl.float32 and is_ptx():
        tiny = a < 2.0**-100
        m = where(tiny, a * 2.0**48, a)
        y = of_assembly(m, "lg2.approx.ftz.f32 $0, $1;") * 0.33333334
        y = of_assembly(y, "ex2.approx.ftz.f32 $0, $1;")
        # One step of Newton's: 12 bits become 24.
        s = y * y
        y = fma(fma(-s, y, m) * near_inverse(s), 0.33333334, y)
        y = where(tiny, y * 2.0**-16, y)
    else:
        y, low, k = cbrt_sum(where(usual, a, 1.0))
        y = (y + low) * power_of_two(k, x)
    return where(usual, with_sign(y, x), x)


@jit
def inverse(s, s_low):
    """1 / (s + s_low), s_low small."""
    y = div(const(1.0, s), s)
    return fma(y, fma(-y, s_low, fma(-y, s, 1.0)), y)


@typed(F)
def rcbrt(x) -> tensor:
    """1 / cbrt(x).

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) + 1.0
    >>> tl.extra.libdevice.rcbrt(x)
    float32[4]: [1, 0.7937, 0.6934, 0.63]
    """
    a = abs(x)
    usual = (a > 0) & (a < INF)
    y, low, k = cbrt_sum(where(usual, a, 1.0))
    r = inverse(y, low) * power_of_two(-k, x)
    return where(usual, with_sign(r, x), div(const(1.0, x), x))


@typed(F)
def sqrt(x) -> tensor:
    """The square root, rounded to nearest: exact as IEEE 754 has it.

    >>> tl.extra.libdevice.sqrt(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return root(x)


@typed(F)
def rsqrt(x) -> tensor:
    """1 / sqrt(x).

    Accuracy: 2 ulp for float32, where a GPU has an instruction that takes subnormal numbers
    for 0; 1 ulp for float64.

    >>> tl.extra.libdevice.rsqrt(tl.load(x_ptr + tl.arange(0, 4)) + 1.0)
    float32[4]: [1, 0.7071, 0.5774, 0.5]
    """
    if x.dtype == tl.float32:
        return math.rsqrt(x)
    else:
        usual = (x > 0) & (x < INF)
        half = where(x < 2.0**-900, 2.0**300, 1.0).to(tl.float64)
        v = where(usual, x * half * half, 1.0)
        s = root(v)
        low = div(fma(-s, s, v), s + s)
        return where(usual, inverse(s, low) * half, div(const(1.0, x), root(x)))


@typed("f32")
def rsqrt_rn(x) -> tensor:
    """1 / sqrt(x) of float32, rounded to nearest.

    >>> tl.extra.libdevice.rsqrt_rn(tl.load(x_ptr + tl.arange(0, 4)) + 1.0)
    float32[4]: [1, 0.7071, 0.5774, 0.5]
    """
    d = x.to(tl.float64)
    return div(const(1.0, d), math.sqrt(d)).to(tl.float32)


@typed("f64")
def rcp64h(x) -> tensor:
    """1 / x with the upper half of a float64's bits, the lower ones 0.

    Accuracy: 2^-18, as the instruction of a GPU.

    >>> tl.extra.libdevice.rcp64h(tl.load(x_ptr + tl.arange(0, 4)).to(tl.float64) + 1.0)
    float64[4]: [1, 0.5, 0.3333, 0.25]
    """
    r = bits(div(const(1.0, x), x))
    return (r & -4294967296).to(tl.float64, bitcast=True)


# ---- lengths -------------------------------------------------------------------------


@jit
def _length_sum(x, y, z, w):
    """The root of the sum of squares as two numbers, and the power that scales it."""
    wide: tl.constexpr = x.dtype == tl.float64
    high: tl.constexpr = 2.0**500 if wide else 2.0**60
    low: tl.constexpr = 2.0**-500 if wide else 2.0**-40
    down: tl.constexpr = -600 if wide else -80
    up: tl.constexpr = 600 if wide else 100
    most = math.maximum(math.maximum(abs(x), abs(y)), math.maximum(abs(z), abs(w)))
    k = where(most > high, down, where(most < low, up, 0))
    f = power_of_two(k, x)
    s, s_low = two_product(x * f, x * f)
    for v in (y, z, w):
        p, p_low = two_product(v * f, v * f)
        t = add(s, p)
        # Two-sum of positive numbers by the larger one.
        big = math.maximum(s, p)
        s_low = s_low + p_low + (math.minimum(s, p) - (t - big))
        s = t
    usual = (most > 0) & (most < INF)
    s = where(usual, s, 1.0)
    r = root(s)
    r_low = div(fma(-r, r, s) + where(usual, s_low, 0.0), r + r)
    return r, r_low, k, usual


@jit
def _length(x, y, z, w):
    r, low, k, usual = _length_sum(x, y, z, w)
    r = (r + low) * power_of_two(-k, x)
    other = abs(x) + abs(y) + abs(z) + abs(w)
    far = (abs(x) == INF) | (abs(y) == INF) | (abs(z) == INF) | (abs(w) == INF)
    other = where(far, INF, other)
    return where(usual & (other == other) & (far ^ True), r, other)


@jit
def _inverse_length(x, y, z, w):
    r, low, k, usual = _length_sum(x, y, z, w)
    r = inverse(r, low) * power_of_two(k, x)
    other = abs(x) + abs(y) + abs(z) + abs(w)
    far = (abs(x) == INF) | (abs(y) == INF) | (abs(z) == INF) | (abs(w) == INF)
    r = where(usual & (other == other), r, div(const(1.0, x), other))
    return where(far, 0.0, r)


@typed(FF)
def hypot(x, y) -> tensor:
    """sqrt(x^2 + y^2) without overflow between.

    Accuracy: 2 ulp for float32, 1 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.hypot(x, x + 1.0)
    float32[4]: [1, 2.236, 3.606, 5]
    """
    if x.dtype == tl.float64:
        return _length(x, y, const(0.0, x), const(0.0, x))
    else:
        a = abs(x)
        b = abs(y)
        large = math.maximum(a, b)
        # Powers of two, one the other's inverse, that bring `large` into 1/4 .. 2^14.
        k = bits(large) & 0x78000000
        f = (0x7E000000 - k).to(tl.float32, bitcast=True)
        p = large * f
        q = math.minimum(a, b) * f
        r = near_root(fma(p, p, q * q)) * (k + 0x01000000).to(tl.float32, bitcast=True)
        r = where((x != x) | (y != y), x + y, r)
        return where((a == INF) | (b == INF), INF, r)


@typed(FF)
def rhypot(x, y) -> tensor:
    """1 / sqrt(x^2 + y^2) without overflow between.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rhypot(x, x + 1.0)
    float32[4]: [1, 0.4472, 0.2774, 0.2]
    """
    return _inverse_length(x, y, const(0.0, x), const(0.0, x))


@typed("f32 f32 f32, f64 f64 f64")
def norm3d(x, y, z) -> tensor:
    """sqrt(x^2 + y^2 + z^2) without overflow between.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.norm3d(x, x + 1.0, 2.0)
    float32[4]: [2.236, 3, 4.123, 5.385]
    """
    return _length(x, y, z, const(0.0, x))


@typed("f32 f32 f32, f64 f64 f64")
def rnorm3d(x, y, z) -> tensor:
    """1 / sqrt(x^2 + y^2 + z^2) without overflow between.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rnorm3d(x, x + 1.0, 2.0)
    float32[4]: [0.4472, 0.3333, 0.2425, 0.1857]
    """
    return _inverse_length(x, y, z, const(0.0, x))


@typed("f32 f32 f32 f32, f64 f64 f64 f64")
def norm4d(x, y, z, w) -> tensor:
    """sqrt(x^2 + y^2 + z^2 + w^2) without overflow between.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.norm4d(x, x + 1.0, 2.0, 3.0)
    float32[4]: [3.742, 4.243, 5.099, 6.164]
    """
    return _length(x, y, z, w)


@typed("f32 f32 f32 f32, f64 f64 f64 f64")
def rnorm4d(x, y, z, w) -> tensor:
    """1 / sqrt(x^2 + y^2 + z^2 + w^2) without overflow between.

    Accuracy: 1 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rnorm4d(x, x + 1.0, 2.0, 3.0)
    float32[4]: [0.2673, 0.2357, 0.1961, 0.1622]
    """
    return _inverse_length(x, y, z, w)
