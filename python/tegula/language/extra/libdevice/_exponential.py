"""Exponentials, logarithms and powers.

exp and its kin: x = n ln 2 + r, e^r by a polynomial, 2^n by its bits, in two steps so that
subnormal results are rounded once. Logarithms that must be better than their type (for pow,
log10) are sums of two numbers: f / (2 + f) and the first two terms of its series are.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...external import inline_asm_elementwise
from ...math import abs, floor, fma, where
from ...target_info import is_ptx
from ._tables import (
    CBRT,
    EXP2_32,
    EXP32,
    EXP64,
    LN2_32,
    LN2_64,
    LN10_32,
    LN10_64,
    LOG2_10_32,
    LOG2_10_64,
    LOG2_32,
    LOG2E_32,
    LOG2E_64,
    LOG10_2_32,
    LOG10_2_64,
    LOG10E_32,
    LOG10E_64,
    LOG32,
    LOG64,
    LOG_NEAR_32,
    SINH32,
    TWO_THIRDS_32,
    TWO_THIRDS_64,
)
from ._typed import (
    FF,
    INF,
    F,
    add,
    bits,
    const,
    div,
    fast_two_sum,
    is_negative,
    mul,
    near_inverse,
    near_root,
    no_number,
    of_assembly,
    power_of_two,
    root,
    two_product,
    two_sum,
    typed,
    unit,
    whole,
    with_sign,
)

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "acosh", "asinh", "atanh", "cosh", "exp", "exp2", "exp10", "expm1", "log", "log1p",
    "log2", "log10", "pow", "sinh", "tanh",
]  # fmt: skip


# ---- exp -----------------------------------------------------------------------------


@jit
def between(x, low: tl.constexpr, high: tl.constexpr):
    """x, not below low and not above high; a NaN stays."""
    x = where(x < low, low, x)
    return where(x > high, high, x)


@jit
def _times_power(y, n):
    """y * 2^n for y near 1 and an n that may leave the range on either side by a half."""
    half = n >> 1
    return y * power_of_two(half, y) * power_of_two(n - half, y)


@jit
def _ln2_parts(x):
    """x = n ln 2 + r + low."""
    wide: tl.constexpr = x.dtype == tl.float64
    log2e: tl.constexpr = LOG2E_64[0] if wide else LOG2E_32[0]
    ln2: tl.constexpr = LN2_64 if wide else LN2_32
    n = whole(x * log2e)
    first = fma(n, const(-ln2[0], x), x)
    r = fma(n, const(-ln2[1], x), first)
    return n, r, fma(n, const(-ln2[1], x), add(first, -r))


@jit
def _curve(r):
    """e^r - 1 - r."""
    wide: tl.constexpr = r.dtype == tl.float64
    p = math.polynomial(r, EXP64) if wide else math.polynomial(r, EXP32)
    return r * r * p


@jit
def _exp_near(r, low):
    """e^(r + low) as the sum of two numbers."""
    h, rest = fast_two_sum(const(1.0, r), r)
    return fast_two_sum(h, rest + (_curve(r) + fma(low, r, low)))


@jit
def exp_two(x, low, k: tl.constexpr):
    """2^k e^(x + low), low small, as the sum of two numbers."""
    wide: tl.constexpr = x.dtype == tl.float64
    bound: tl.constexpr = 760.0 if wide else 110.0
    x = between(x, -bound, bound)
    n, r, more = _ln2_parts(x)
    r, low = two_sum(r, more + low)
    h, rest = _exp_near(r, low)
    i = n.to(tl.int32) + k
    return _times_power(h, i), _times_power(rest, i)


@jit
def exp_sum(x, low, k: tl.constexpr):
    """2^k e^(x + low), low small."""
    wide: tl.constexpr = x.dtype == tl.float64
    bound: tl.constexpr = 760.0 if wide else 110.0
    x = between(x, -bound, bound)
    n, r, more = _ln2_parts(x)
    r, low = two_sum(r, more + low)
    h, rest = _exp_near(r, low)
    return _times_power(h + rest, n.to(tl.int32) + k)


# b^x on a GPU, by its 2^f. n = floor(x log2 b) is what 252 times a number cut to 0 .. 1
# leaves in the low bits of a sum, where 2^n is one shift away; beyond -126 .. 126 n stays
# and f leaves 0 .. 1 instead, so that what is subnormal is rounded once, by the product.
_POWER_ASM = """{{
.reg .f32 s, n, f;
.reg .b32 p;
fma.rn.sat.f32 s, $1, {per}, 0f3F000000;
fma.rm.f32 s, s, 0f437C0000, 0f4B400001;
sub.rn.f32 n, 0f4B40007F, s;
fma.rn.f32 f, $1, {high}, n;
fma.rn.f32 f, $1, {low}, f;
ex2.approx.ftz.f32 f, f;
mov.b32 p, s;
add.u32 p, p, {shift};
shl.b32 p, p, 23;
mov.b32 s, p;
mul.rn.f32 $0, f, s;
}}"""


def _power_asm(high: float, low: float, shift: int = 0) -> str:
    """The assembly for 2^shift b^x, log2 b = high + low; with a shift x is >= 0."""

    def word(v: float) -> str:
        return "0f" + struct.pack(">f", v).hex().upper()

    per = word(high / 252)
    return _POWER_ASM.format(per=per, high=word(high), low=word(low), shift=shift)


EXP_ASM = tl.constexpr(_power_asm(*LOG2E_32.value))
QUARTER_EXP_ASM = tl.constexpr(_power_asm(*LOG2E_32.value, -2))
EXP10_ASM = tl.constexpr(_power_asm(*LOG2_10_32.value))


@typed(F)
def exp(x) -> tensor:
    """e to the x, also where ``tl.exp`` of a GPU is an approximation.

    Accuracy: 1 ulp; float32 on GPUs: 2 ulp.

    >>> tl.extra.libdevice.exp(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 2.718, 7.389, 20.09]
    """
    if x.dtype == tl.float32 and is_ptx():
        return of_assembly(x, EXP_ASM)
    else:
        return math.exp(x)


@jit
def _exp_of_base(x, per: tl.constexpr, log2: tl.constexpr, ln: tl.constexpr):
    """b^x: x = n log2 + r by the base's own logarithms, then e^(r ln)."""
    n = whole(x * per)
    r = fma(n, const(-log2[0], x), x)
    r = fma(n, const(-log2[1], x), r)
    t, low = two_product(r, const(ln[0], x))
    low = fma(r, const(ln[1], x), low)
    h, rest = _exp_near(t, low)
    return _times_power(h + rest, n.to(tl.int32))


@typed(F)
def exp2(x) -> tensor:
    """2 to the x, subnormals too, which ``tl.exp2`` of a GPU takes for 0.

    Accuracy: 1 ulp; float32 on GPUs: 3 ulp.

    >>> tl.extra.libdevice.exp2(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 2, 4, 8]
    """
    if x.dtype == tl.float32 and is_ptx():
        return of_assembly(x, "ex2.approx.f32 $0, $1;")
    else:
        return math.exp2(x)


@typed(F)
def exp10(x) -> tensor:
    """10 to the x.

    Accuracy: 1 ulp; float32 on GPUs: 3 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.exp10(x)
    float32[4]: [1, 10, 100, 1000]
    """
    if x.dtype == tl.float32 and is_ptx():
        return of_assembly(x, EXP10_ASM)
    elif x.dtype == tl.float32:
        x = between(x, -48.0, 48.0)
        return _exp_of_base(x, LOG2_10_32[0], LOG10_2_32, LN10_32)
    else:
        x = between(x, -330.0, 330.0)
        return _exp_of_base(x, LOG2_10_64[0], LOG10_2_64, LN10_64)


@jit
def exp_less_1(x):
    """e^x - 1."""
    wide: tl.constexpr = x.dtype == tl.float64
    bound: tl.constexpr = 709.9 if wide else 89.0
    t = between(x, -60.0, bound)
    n, r, low = _ln2_parts(t)
    # 2^n (e^r - 1) + (2^n - 1), in halves because 2^n may be just out of range.
    half = power_of_two(n.to(tl.int32) - 1, x)
    p, rest = fast_two_sum(r, _curve(r) + low)
    h, more = two_sum(half - 0.5, half * p)
    y = 2.0 * (h + fma(half, rest, more))
    tiny: tl.constexpr = 2.0**-54 if wide else 2.0**-25
    y = where(abs(x) < tiny, x, y)
    return where(x > bound, INF, y)


@typed(F)
def expm1(x) -> tensor:
    """e^x - 1, accurate near 0.

    Accuracy: 1 ulp; float32 on GPUs: 2 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.expm1(x)
    float32[4]: [0, 0.284, 0.6487, 1.117]
    """
    return exp_less_1(x)


# 2^($1 + $2), $2 small, as _POWER_ASM.
_POWER_OF_TWO_ASM = tl.constexpr("""{
.reg .f32 s, n, f;
.reg .b32 p;
fma.rn.sat.f32 s, $1, 0f3B820821, 0f3F000000;
fma.rm.f32 s, s, 0f437C0000, 0f4B400001;
sub.rn.f32 n, 0f4B40007F, s;
add.rn.f32 f, $1, n;
add.rn.f32 f, f, $2;
ex2.approx.ftz.f32 f, f;
mov.b32 p, s;
shl.b32 p, p, 23;
mov.b32 s, p;
mul.rn.f32 $0, f, s;
}""")


@jit
def exp2_exact(x, low, k: tl.constexpr):
    """2^(k + x + low) of float32, low small against x, within a unit of the last place."""
    x = between(x, -160.0, 140.0)
    low = math.minimum(math.maximum(low, -0.5), 0.5)
    n = whole(x)
    f = (x - n) + low
    return _times_power(fma(math.polynomial(f, EXP2_32), f, 1.0), n.to(tl.int32) + k)


@jit
def exp2_sum(x, low):
    """The same for k = 0; on GPUs an approximation, up to 2 units off."""
    if is_ptx():
        return inline_asm_elementwise(
            _POWER_OF_TWO_ASM, "=f,f,f", (x, low), tl.float32, True, 1
        )
    else:
        return exp2_exact(x, low, 0)


@jit
def _quarter_exp_exact(x):
    """e^x / 4 of a float32 from 0 on."""
    x = where(x > 100.0, 100.0, x)
    p, low = two_product(x, const(LOG2E_32[0], x))
    return exp2_exact(p, fma(x, const(LOG2E_32[1], x), low), -2)


@jit
def _quarter_exp(x):
    """The same; on GPUs an approximation: cosh was 2.4 units off by it on an H100."""
    if is_ptx():
        return of_assembly(x, QUARTER_EXP_ASM)
    else:
        return _quarter_exp_exact(x)


@typed(F)
def sinh(x) -> tensor:
    """Hyperbolic sine.

    Accuracy: 3 ulp for float32, 2 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.sinh(x)
    float32[4]: [0, 0.2526, 0.5211, 0.8223]
    """
    a = abs(x)
    if x.dtype == tl.float64:
        e = exp_less_1(where(a < 24.0, a, 24.0))
        near = 0.5 * (e + div(e, e + 1.0))
        return with_sign(where(a < 24.0, near, exp_sum(a, 0.0, -1)), x)
    else:
        e = _quarter_exp(a)
        far = fma(e, 2.0, near_inverse(e) * -0.125)
        z = x * x
        near = fma(a * z, math.polynomial(z, SINH32), a)
        return with_sign(where(a < 1.0, near, far), x)


@typed(F)
def cosh(x) -> tensor:
    """Hyperbolic cosine.

    Accuracy: 2 ulp for float32, 1 ulp for float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.cosh(x)
    float32[4]: [1, 1.031, 1.128, 1.295]
    """
    if x.dtype == tl.float64:
        e, low = exp_two(abs(x), 0.0, -1)
        return where(e < INF, e + (low + div(const(0.25, x), e)), e)
    else:
        e = _quarter_exp_exact(abs(x))
        return fma(e, 2.0, near_inverse(e) * 0.125)


@typed(F)
def tanh(x) -> tensor:
    """Hyperbolic tangent.

    Accuracy: 2 ulp; float32 on GPUs: 3 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.tanh(x)
    float32[4]: [0, 0.2449, 0.4621, 0.6351]
    """
    return math.tanh(x)


# ---- log -----------------------------------------------------------------------------


@jit
def _log_parts(x):
    """x = 2^e (1 + f), 1 + f in sqrt 1/2 .. sqrt 2; x positive and finite."""
    wide: tl.constexpr = x.dtype == tl.float64
    mant: tl.constexpr = 52 if wide else 23
    start: tl.constexpr = 0x3FE6A09E667F3BCD if wide else 0x3F3504F3
    least: tl.constexpr = 2.0**-1022 if wide else 2.0**-126
    low = x < least
    w = bits(where(low, x * (2.0**64), x))
    k = (w - start) & -(1 << mant)
    e = (k >> mant).to(tl.int32) - where(low, 64, 0)
    return e.to(x.dtype), (w - k).to(x.dtype, bitcast=True) - 1.0


@jit
def log_sum(x):
    """log(x) as the sum of two numbers, x positive and finite."""
    wide: tl.constexpr = x.dtype == tl.float64
    ln2: tl.constexpr = LN2_64 if wide else LN2_32
    third: tl.constexpr = TWO_THIRDS_64 if wide else TWO_THIRDS_32
    e, f = _log_parts(x)
    d = add(f, const(2.0, x))
    d_low = f - add(d, const(-2.0, x))
    s = div(f, d)
    s_low = div(fma(-s, d_low, fma(-s, d, f)), d)
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    c, c_low = two_product(s, z)
    c_low = c_low + fma(s, z_low, s_low * z)
    t, t_low = two_product(c, const(third[0], x))
    t_low = t_low + fma(c, const(third[1], x), c_low * third[0])
    p = math.polynomial(z, LOG64) if wide else math.polynomial(z, LOG32)
    h, low = fast_two_sum(s + s, t)
    low = low + (s_low + s_low + t_low + c * z * p)
    h, more = fast_two_sum(mul(e, const(ln2[0], x)), h)
    return fast_two_sum(h, more + fma(e, const(ln2[1], x), low))


@jit
def log_special(x, r):
    """r, but for 0, negative numbers, infinity and NaN."""
    r = where(x == 0, -INF, r)
    r = where(x < 0, no_number(x), r)
    return where(x < INF, r, x)


@jit
def _log_of_base(x, per: tl.constexpr):
    h, low = log_sum(x)
    r, more = two_product(h, const(per[0], x))
    more = more + fma(h, const(per[1], x), low * per[0])
    return log_special(x, r + more)


@typed(F)
def log(x) -> tensor:
    """Natural logarithm.

    Accuracy: 1 ulp.

    >>> tl.extra.libdevice.log(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 0.6931, 1.099]
    """
    return math.log(x)


@typed(F)
def log2(x) -> tensor:
    """Logarithm to base 2, exact for powers of two.

    Accuracy: 1 ulp; float32 on GPUs: 2 ulp.

    >>> tl.extra.libdevice.log2(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 1, 1.585]
    """
    if x.dtype == tl.float64:
        return _log_of_base(x, LOG2E_64)
    elif is_ptx():
        return math.log2(x)
    else:
        return _log_of_base(x, LOG2E_32)


@typed(F)
def log10(x) -> tensor:
    """Logarithm to base 10.

    Accuracy: 1 ulp; float32 on GPUs: 3 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.log10(x)
    float32[4]: [-inf, 0, 0.301, 0.4771]
    """
    if x.dtype == tl.float64:
        return _log_of_base(x, LOG10E_64)
    elif is_ptx():
        return math.log2(x) * 0.3010299956639812
    else:
        return _log_of_base(x, LOG10E_32)


@jit
def _log_1_plus32(x):
    """log(1 + x) of a finite float32 > -1: 1 + x = 2^e (1 + f), f rounded once."""
    k = (bits(x + 1.0) - 0x3F3504F3) & -0x800000
    # 4 * 2^-e, because 2^-127 is subnormal.
    four = (0x40800000 - k).to(tl.float32, bitcast=True)
    f = fma(x * 0.25, four, fma(four, 0.25, -1.0))
    y = fma(f, math.polynomial(f, LOG_NEAR_32), -0.5) * (f * f)
    e = (k >> 23).to(tl.float32)
    r = fma(e, LN2_32[0], f + fma(e, LN2_32[1], y))
    return where(abs(x) < 2.0**-25, x, r)


@jit
def log_1_plus(x):
    """log(1 + x): u is 1 + x, and what that lost is small against u."""
    if x.dtype == tl.float32:
        r = _log_1_plus32(x)
        r = where(x > -1.0, r, where(x == -1.0, -INF, no_number(x)))
        return where(x < INF, r, x)
    else:
        u = add(x, const(1.0, x))
        v = add(u, const(-1.0, x))
        lost = where(abs(x) < 1.0, x - v, 1.0 - add(u, -x))
        r = math.log(u) + lost / where(u > 0, u, 1.0)
        r = where(abs(x) < 2.0**-54, x, r)
        return where(x < INF, where(x == -1.0, -INF, r), x)


@typed(F)
def log1p(x) -> tensor:
    """log(1 + x), accurate near 0.

    Accuracy: 2 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.log1p(x)
    float32[4]: [0, 0.2231, 0.4055, 0.5596]
    """
    return log_1_plus(x)


@jit
def _log_of_long(near, a):
    """log(1 + near), where a from 2^28 (float32: 2^30) on is large: log(2 a)."""
    if a.dtype == tl.float32:
        far = a >= 2.0**30
        return _log_1_plus32(where(far, a, near)) + where(far, 0.6931471805599453, 0.0)
    else:
        far = a >= 2.0**28
        return where(far, math.log(a) + 0.6931471805599453, log_1_plus(near))


@typed(F)
def asinh(x) -> tensor:
    """Inverse hyperbolic sine.

    Accuracy: 3 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.asinh(x)
    float32[4]: [0, 0.2475, 0.4812, 0.6931]
    """
    a = abs(x)
    z = a * a
    if x.dtype == tl.float32:
        near = fma(z, near_inverse(near_root(fma(a, a, 1.0)) + 1.0), a)
    else:
        near = a + div(z, root(fma(a, a, 1.0)) + 1.0)
    return with_sign(where(a < INF, _log_of_long(near, a), a), x)


@typed(F)
def acosh(x) -> tensor:
    """Inverse hyperbolic cosine.

    Accuracy: 3 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) + 1.0
    >>> tl.extra.libdevice.acosh(x)
    float32[4]: [0, 1.317, 1.763, 2.063]
    """
    t = x - 1.0
    v = fma(t, t, t + t)
    near = t + (near_root(v) if x.dtype == tl.float32 else root(v))
    r = _log_of_long(near, x)
    return where(x < 1.0, no_number(x), where(x < INF, r, x))


@typed(F)
def atanh(x) -> tensor:
    """Inverse hyperbolic tangent.

    Accuracy: 3 ulp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.atanh(x)
    float32[4]: [0, 0.2554, 0.5493, 0.973]
    """
    a = abs(x)
    d = 1.0 - a
    if x.dtype == tl.float32:
        r = near_inverse(d)
        q = (a + a) * r
        q = fma(fma(-q, d, a + a), r, q)
        y = 0.5 * _log_1_plus32(q)
        return with_sign(where(a < 1.0, y, where(a == 1.0, INF, no_number(x))), x)
    else:
        return with_sign(0.5 * log_1_plus(div(a + a, d)), x)


# ---- powers --------------------------------------------------------------------------


@jit
def _power(x, y, y_low, odd, fraction):
    """x^(y + y_low) = e^(y log x), where y is odd, or no whole number; float64."""
    a = abs(x)
    usual = (a > 0) & (a < INF)
    h, low = log_sum(where(usual, a, 1.0))
    h = where(a == 0, -INF, where(usual, h, a))
    p, more = two_product(y, h)
    more = where(usual & (abs(p) < 1000.0), fma(y, low, fma(y_low, h, more)), 0.0)
    r = exp_sum(p, more, 0)
    r = where(is_negative(x) & odd, -r, r)
    r = where((x < 0) & (a < INF) & fraction, no_number(x), r)
    r = where((a == 1.0) & (abs(y) == INF), 1.0, r)
    return where((y == 0) | (x == 1.0), 1.0, r)


@jit
def _log2_sum(a):
    """log2(a) of float32 as the sum of two numbers, 2^-31 near; a positive and finite."""
    e, f = _log_parts(a)
    # s = 2 f / (2 + f) and what rounding takes from it; log(1 + f) = s + s^3/12 + ..
    r = near_inverse(f + 2.0)
    s = mul(f + f, r)
    t = add(f, -s)
    s_low = fma(-s, f, t + t) * r
    z = s * s
    c, c_low = two_product(s, const(LOG2E_32[0], a))
    c_low = fma(s, const(LOG2E_32[1], a), c_low)
    # What s_low adds to s and to its cube: log2 e / 4 is the derivative of the latter.
    c_low = fma(s_low, fma(z, 0.36067376, LOG2E_32[0]), c_low)
    cube = s * z
    q = math.polynomial(z, LOG2_32)
    g = fma(cube, q, c)
    h, low = fast_two_sum(e, g)
    return h, low + (fma(cube, q, add(c, -g)) + c_low)


@jit
def _power32(x, y, y_low, odd, fraction):
    """_power of float32; y_low None: 0."""
    a = abs(x)
    h, low = _log2_sum(a)
    # Beyond, the power of no number but 1 is finite; infinity times 0 is not needed.
    b = math.minimum(math.maximum(y, -(2.0**40)), 2.0**40)
    p, more = two_product(b, h)
    more = fma(b, low, more)
    if y_low is not None:
        more = fma(y_low, h, more)
    r = exp2_sum(p, more)
    r = where((x < 0) & fraction, no_number(x), r)
    # Of 0 and infinity the other one, where y is negative.
    end = (bits(a) ^ where(y < 0, 0x7F800000, 0)).to(tl.float32, bitcast=True)
    r = where((a == 0) | (a == INF), end, r)
    r = where(is_negative(x) & odd, -r, r)
    r = where((x != x) | (y != y), x + y, r)
    return where((y == 0) | (x == 1.0), 1.0, r)


@typed("f32 f32, f64 f64, f32 i32, f64 i32")
def power(x, y) -> tensor:
    if y.dtype == tl.int32:
        z = y.to(x.dtype)
        # What a float32 beyond 2^24 lacks of y; 2^31 itself would not come back.
        back = between(z, -2147483520.0, 2147483520.0).to(tl.int32)
        lost = (y - back).to(x.dtype) - (z - back.to(x.dtype))
        if x.dtype == tl.float64:
            return _power(x, z, lost, (y & 1) != 0, y != y)
        else:
            return _power32(x, z, lost, (y & 1) != 0, y != y)
    else:
        is_whole = floor(y) == y
        half = y * 0.5
        odd = is_whole & (floor(half) != half)
        if x.dtype == tl.float64:
            return _power(x, y, y * 0.0, odd, is_whole ^ True)
        else:
            return _power32(x, y, None, odd, is_whole ^ True)


@typed(F)
def _square(x):
    return x * x


@jit
def pow(x, y) -> tensor:
    """x to the y; y may be an int32.

    Accuracy: 4 ulp for float32, 1 ulp for float64. The numbers 2, 3 and -2 become products.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.pow(x, x + 0.5)
    float32[4]: [0, 1, 5.657, 46.77]
    """
    if isinstance(y, tl.constexpr) and not isinstance(x, tl.constexpr):
        if y == 2:
            return _square(x)
        elif y == 3:
            return _square(x) * x
        elif y == -2:
            s = _square(x)
            return div(const(1.0, s), s)
        else:
            return power(x, y)
    else:
        return power(x, y)
