"""The mathematical functions that CUDA calls libdevice, written in the language.

Types: float32 and float64 unless a function says otherwise, as Triton's.
Accuracy: a few ulp where no function of the core exists; none needs CUDA's bitcode file,
so they give the same on every target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from .. import core as tl
from .. import math
from ..math import abs as abs
from ..math import ceil as ceil
from ..math import cos as cos
from ..math import div_rn as div_rn
from ..math import erf as erf
from ..math import exp as exp
from ..math import exp2 as exp2
from ..math import floor as floor
from ..math import fma as fma
from ..math import log as log
from ..math import log2 as log2
from ..math import rsqrt as rsqrt
from ..math import sin as sin
from ..math import sqrt as sqrt
from ..math import sqrt_rn as sqrt_rn
from ..math import tanh as tanh
from ..math import umulhi as mulhi
from ..math import where as where

if TYPE_CHECKING:
    from ..types import tensor

fast_expf = exp
fast_logf = log
fast_log2f = log2
fast_sinf = sin
fast_cosf = cos
fast_tanhf = tanh
fast_dividef = math.fdiv
fma_rn = fma

_PI = tl.constexpr(3.141592653589793)
_INF = tl.constexpr(float("inf"))


# ---- classes of numbers, rounding -------------------------------------------------------


@jit
def isnan(x) -> tensor:
    """int1: is x not a number?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.isnan(x / x)
    int1[4]: [1, 0, 0, 0]
    """
    return x != x


@jit
def isinf(x) -> tensor:
    """int1: is x infinite?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.isinf(1.0 / x)
    int1[4]: [1, 0, 0, 0]
    """
    return abs(x) == _INF


@jit
def finitef(x) -> tensor:
    """int1: is x finite?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.finitef(1.0 / x)
    int1[4]: [0, 1, 1, 1]
    """
    return abs(x) < _INF


@jit
def isfinited(x) -> tensor:
    """int1: is x finite?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.isfinited(1.0 / x)
    int1[4]: [0, 1, 1, 1]
    """
    return abs(x) < _INF


@jit
def _bits(x):
    return x.to(tl.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


@jit
def signbit(x) -> tensor:
    """int32: 1 for negative numbers and -0.0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.signbit(x)
    int32[4]: [1, 1, 0, 0]
    """
    return (_bits(x) < 0).to(tl.int32)


@jit
def copysign(x, y) -> tensor:
    """The magnitude of x with the sign of y.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.copysign(x, -1.0 * x)
    float32[4]: [-0, -1, -2, -3]
    """
    return where(_bits(y) < 0, -abs(x), abs(x))


@jit
def trunc(x) -> tensor:
    """Round towards zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.75
    >>> tl.extra.libdevice.trunc(x)
    float32[4]: [0, 0, 1, 2]
    """
    return copysign(floor(abs(x)), x)


@jit
def round(x) -> tensor:
    """Round to the nearest integer, halves away from zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.75
    >>> tl.extra.libdevice.round(x)
    float32[4]: [0, 1, 2, 2]
    """
    whole = floor(abs(x))
    return copysign(where(abs(x) - whole >= 0.5, whole + 1.0, whole), x)


@jit
def rint(x) -> tensor:
    """Round to the nearest integer, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.75
    >>> tl.extra.libdevice.rint(x)
    float32[4]: [0, 1, 2, 2]
    """
    whole = floor(abs(x))
    part = abs(x) - whole
    is_odd = floor(whole * 0.5) * 2.0 != whole
    up = (part > 0.5) | ((part == 0.5) & is_odd)
    return copysign(where(up, whole + 1.0, whole), x)


@jit
def nearbyint(x) -> tensor:
    """Round to the nearest integer, halfway to even, as rint.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.75
    >>> tl.extra.libdevice.nearbyint(x)
    float32[4]: [0, 1, 2, 2]
    """
    return rint(x)


@jit
def fmod(x, y) -> tensor:
    """Remainder with the sign of x.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fmod(x, x + 2.0)
    float32[4]: [0, 1, 2, 3]
    """
    return x % y


@jit
def fdim(x, y) -> tensor:
    """x - y where that is positive, else 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fdim(x, 3.0 - x)
    float32[4]: [0, 0, 1, 3]
    """
    return where(x > y, x - y, x * 0.0)


@jit
def saturatef(x) -> tensor:
    """x between 0 and 1; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.saturatef(x)
    float32[4]: [0, 0.25, 0.5, 0.75]
    """
    return math.minimum(math.maximum(x, 0.0), 1.0)


# ---- powers and logarithms --------------------------------------------------------------


@jit
def exp10(x) -> tensor:
    """10 to the x.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.exp10(x)
    float32[4]: [1, 10, 100, 1000]
    """
    return pow(x * 0.0 + 10.0, x)


@jit
def expm1(x) -> tensor:
    """exp(x) - 1, exact near 0 (Kahan).

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.expm1(x)
    float32[4]: [0, 0.284, 0.6487, 1.117]
    """
    u = exp(x)
    near = where(u == 1.0, x, (u - 1.0) * x / log(u))
    return where(abs(x) < 0.5, near, u - 1.0)


@jit
def log1p(x) -> tensor:
    """log(1 + x), exact near 0 (Kahan).

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.log1p(x)
    float32[4]: [0, 0.2231, 0.4055, 0.5596]
    """
    u = x + 1.0
    near = log(u) * (x / (u - 1.0))
    return where(u == 1.0, x, where(u == _INF, u, near))


@jit
def log10(x) -> tensor:
    """Logarithm to base 10.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.log10(x)
    float32[4]: [-inf, 0, 0.301, 0.4771]
    """
    return log2(x) * 0.30102999566398120


@jit
def pow(x, y) -> tensor:
    """x to the y. float32 is computed in float64.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.pow(x, x)
    float32[4]: [1, 1, 4, 27]
    """
    if x.dtype == tl.float32:
        return pow_f64(x.to(tl.float64), y.to(tl.float64)).to(tl.float32)
    else:
        return pow_f64(x, y.to(tl.float64))


@jit
def pow_f64(x, y):
    r = exp2(y * log2(abs(x)))
    is_whole = floor(y) == y
    is_odd = is_whole & (floor(y * 0.5) * 2.0 != y)
    r = where((_bits(x) < 0) & is_odd, -r, r)
    r = where((x < 0) & (is_whole ^ True) & (abs(x) < _INF), x * 0.0 / (x * 0.0), r)
    return where((y == 0) | (x == 1.0), x * 0.0 + 1.0, r)


@jit
def cbrt(x) -> tensor:
    """Cube root.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.cbrt(x)
    float32[4]: [0, 1, 1.26, 1.442]
    """
    r = exp2(log2(abs(x)) * 0.3333333333333333)
    r = r - (r * r * r - abs(x)) / (3.0 * r * r)
    return where((x == 0) | (abs(x) == _INF), x, copysign(r, x))


@jit
def hypot(x, y) -> tensor:
    """sqrt(x * x + y * y) without overflow between.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.hypot(x, x + 1.0)
    float32[4]: [1, 2.236, 3.606, 5]
    """
    a = math.maximum(abs(x), abs(y))
    b = math.minimum(abs(x), abs(y))
    q = b / where(a == 0, a + 1.0, a)
    return where(a == _INF, a, a * sqrt(q * q + 1.0))


# ---- circular and hyperbolic ------------------------------------------------------------


@jit
def tan(x) -> tensor:
    """Tangent of radians.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.tan(x)
    float32[4]: [0, 0.2553, 0.5463, 0.9316]
    """
    return sin(x) / cos(x)


@jit
def sinpi(x) -> tensor:
    """sin(pi x).

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.sinpi(x)
    float32[4]: [0, 0.7071, 1, 0.7071]
    """
    return sin((x - 2.0 * rint(x * 0.5)) * _PI)


@jit
def cospi(x) -> tensor:
    """cos(pi x).

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 8
    >>> tl.extra.libdevice.cospi(x)
    float32[4]: [1, 0.9239, 0.7071, 0.3827]
    """
    return cos((x - 2.0 * rint(x * 0.5)) * _PI)


@jit
def atan(x) -> tensor:
    """Arc tangent: brought below tan(pi/8), then its power series.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.atan(x)
    float32[4]: [0, 0.245, 0.4636, 0.6435]
    """
    a = abs(x)
    is_big = a > 2.414213562373095
    is_mid = (a > 0.4142135623730951) & (is_big ^ True)
    t = where(
        is_big,
        -1.0 / where(a == 0, a + 1.0, a),
        where(is_mid, (a - 1.0) / (a + 1.0), a),
    )
    z = t * t
    terms: tl.constexpr = 10 if x.dtype == tl.float32 else 21
    p = z * 0.0
    for i in tl.static_range(terms):
        k: tl.constexpr = 2 * (terms - i) + 1
        p = z * (p + (1.0 / k if (terms - i) % 2 == 0 else -1.0 / k))
    base = where(is_big, z * 0.0 + _PI / 2, where(is_mid, z * 0.0 + _PI / 4, z * 0.0))
    r = base + (t + t * p)
    return copysign(where(a == _INF, p * 0.0 + _PI / 2, r), x)


@jit
def atan2(y, x) -> tensor:
    """The angle of the point (x, y).

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.atan2(x, x + 1.0)
    float32[4]: [0, 0.4636, 0.588, 0.6435]
    """
    r = atan(y / where(x == 0, x * 0.0 + 1.0, x))
    r = where(x < 0, r + copysign(x * 0.0 + _PI, y), r)
    up = copysign(y * 0.0 + _PI / 2, y)
    r = where(x == 0, where(y == 0, y, up), r)
    return where((y == 0) & (_bits(x) < 0), copysign(y * 0.0 + _PI, y), r)


@jit
def asin(x) -> tensor:
    """Arc sine.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.asin(x)
    float32[4]: [0, 0.2527, 0.5236, 0.8481]
    """
    return 2.0 * atan(x / (sqrt((1.0 - x) * (1.0 + x)) + 1.0))


@jit
def acos(x) -> tensor:
    """Arc cosine.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.acos(x)
    float32[4]: [1.571, 1.318, 1.047, 0.7227]
    """
    return 2.0 * atan(sqrt((1.0 - x) / (1.0 + x)))


@jit
def sinh(x) -> tensor:
    """Hyperbolic sine.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.sinh(x)
    float32[4]: [0, 0.2526, 0.5211, 0.8223]
    """
    a = abs(x)
    e = expm1(math.minimum(a, 40.0))
    small = 0.5 * (e + e / (e + 1.0))
    return copysign(where(a < 40.0, small, exp(a - 0.6931471805599453)), x)


@jit
def cosh(x) -> tensor:
    """Hyperbolic cosine.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.cosh(x)
    float32[4]: [1, 1.031, 1.128, 1.295]
    """
    e = exp(abs(x) - 0.6931471805599453)
    return e + 0.25 / e


@jit
def asinh(x) -> tensor:
    """Inverse hyperbolic sine.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.asinh(x)
    float32[4]: [0, 0.2475, 0.4812, 0.6931]
    """
    a = abs(x)
    r = log1p(a + a * a / (sqrt(a * a + 1.0) + 1.0))
    return copysign(where(a > 1.0e9, log(a) + 0.6931471805599453, r), x)


@jit
def acosh(x) -> tensor:
    """Inverse hyperbolic cosine.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) + 1.0
    >>> tl.extra.libdevice.acosh(x)
    float32[4]: [0, 1.317, 1.763, 2.063]
    """
    t = x - 1.0
    return log1p(t + sqrt(t * (x + 1.0)))


@jit
def atanh(x) -> tensor:
    """Inverse hyperbolic tangent.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.atanh(x)
    float32[4]: [0, 0.2554, 0.5493, 0.973]
    """
    return 0.5 * log1p(2.0 * x / (1.0 - x))


@jit
def erfc(x) -> tensor:
    """1 - erf(x); relative accuracy is lost for large x.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 4
    >>> tl.extra.libdevice.erfc(x)
    float32[4]: [1, 0.7237, 0.4795, 0.2888]
    """
    return 1.0 - erf(x)


# ---- bits --------------------------------------------------------------------------------


@jit
def popc(x) -> tensor:
    """int32: set bits of an integer.

    >>> tl.extra.libdevice.popc(tl.arange(0, 4) * 5)
    int32[4]: [0, 2, 2, 4]
    """
    kind: tl.constexpr = tl.get_int_dtype(x.dtype.primitive_bitwidth, False)
    u = x.to(kind, bitcast=True)
    wide: tl.constexpr = x.dtype.primitive_bitwidth == 64
    u = u - ((u >> 1) & (0x5555555555555555 if wide else 0x55555555))
    three: tl.constexpr = 0x3333333333333333 if wide else 0x33333333
    u = (u & three) + ((u >> 2) & three)
    u = (u + (u >> 4)) & (0x0F0F0F0F0F0F0F0F if wide else 0x0F0F0F0F)
    ones: tl.constexpr = 0x0101010101010101 if wide else 0x01010101
    u = math.mul(u, ones, sanitize_overflow=False) >> (56 if wide else 24)
    return u.to(tl.int32)


@jit
def clz(x) -> tensor:
    """int32: zeros above the highest set bit.

    >>> tl.extra.libdevice.clz(tl.arange(0, 4) * 5)
    int32[4]: [32, 29, 28, 28]
    """
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    kind: tl.constexpr = tl.get_int_dtype(bits, False)
    u = x.to(kind, bitcast=True)
    u = u | (u >> 1)
    u = u | (u >> 2)
    u = u | (u >> 4)
    u = u | (u >> 8)
    u = u | (u >> 16)
    if bits == 64:
        u = u | (u >> 32)
    return bits - popc(u)


@jit
def ffs(x) -> tensor:
    """int32: position of the lowest set bit, from 1; 0 for 0.

    >>> tl.extra.libdevice.ffs(tl.arange(0, 4) * 5)
    int32[4]: [0, 1, 2, 1]
    """
    below = math.sub(x, 1, sanitize_overflow=False)
    return where(x == 0, 0, popc(x ^ below))


@jit
def float_as_int(x) -> tensor:
    """The bits of a float32 as int32.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.float_as_int(x)
    int32[4]: [0, 1065353216, 1073741824, 1077936128]
    """
    return x.to(tl.int32, bitcast=True)


@jit
def int_as_float(x) -> tensor:
    """int32 bits as a float32.

    >>> tl.extra.libdevice.int_as_float(tl.full((2,), 1065353216, tl.int32))
    float32[2]: [1, 1]
    """
    return x.to(tl.float32, bitcast=True)
