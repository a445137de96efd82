"""The mathematical functions that CUDA calls libdevice, written in the language.

Types: float32 and float64 unless a function says otherwise, as Triton's.
Accuracy: a few ulp where no function of the core exists; none needs CUDA's bitcode file,
so they give the same on every target.
"""

from __future__ import annotations

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
def isnan(x):
    """int1: is x not a number?"""
    return x != x


@jit
def isinf(x):
    """int1: is x infinite?"""
    return abs(x) == _INF


@jit
def finitef(x):
    """int1: is x finite?"""
    return abs(x) < _INF


@jit
def isfinited(x):
    """int1: is x finite?"""
    return abs(x) < _INF


@jit
def _bits(x):
    return x.to(tl.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


@jit
def signbit(x):
    """int32: 1 for negative numbers and -0.0."""
    return (_bits(x) < 0).to(tl.int32)


@jit
def copysign(x, y):
    """The magnitude of x with the sign of y."""
    return where(_bits(y) < 0, -abs(x), abs(x))


@jit
def trunc(x):
    """Round towards zero."""
    return copysign(floor(abs(x)), x)


@jit
def round(x):
    """Round to the nearest integer, halves away from zero."""
    whole = floor(abs(x))
    return copysign(where(abs(x) - whole >= 0.5, whole + 1.0, whole), x)


@jit
def rint(x):
    """Round to the nearest integer, halves to even."""
    whole = floor(abs(x))
    part = abs(x) - whole
    is_odd = floor(whole * 0.5) * 2.0 != whole
    up = (part > 0.5) | ((part == 0.5) & is_odd)
    return copysign(where(up, whole + 1.0, whole), x)


@jit
def nearbyint(x):
    """Round to the nearest integer, halfway to even, as rint."""
    return rint(x)


@jit
def fmod(x, y):
    """Remainder with the sign of x."""
    return x % y


@jit
def fdim(x, y):
    """x - y where that is positive, else 0."""
    return where(x > y, x - y, x * 0.0)


@jit
def saturatef(x):
    """x between 0 and 1; NaN gives 0."""
    return math.minimum(math.maximum(x, 0.0), 1.0)


# ---- powers and logarithms --------------------------------------------------------------


@jit
def exp10(x):
    """10 to the x."""
    return pow(x * 0.0 + 10.0, x)


@jit
def expm1(x):
    """exp(x) - 1, exact near 0 (Kahan)."""
    u = exp(x)
    near = where(u == 1.0, x, (u - 1.0) * x / log(u))
    return where(abs(x) < 0.5, near, u - 1.0)


@jit
def log1p(x):
    """log(1 + x), exact near 0 (Kahan)."""
    u = x + 1.0
    near = log(u) * (x / (u - 1.0))
    return where(u == 1.0, x, where(u == _INF, u, near))


@jit
def log10(x):
    """Logarithm to base 10."""
    return log2(x) * 0.30102999566398120


@jit
def pow(x, y):
    """x to the y. float32 is computed in float64."""
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
def cbrt(x):
    """Cube root."""
    r = exp2(log2(abs(x)) * 0.3333333333333333)
    r = r - (r * r * r - abs(x)) / (3.0 * r * r)
    return where((x == 0) | (abs(x) == _INF), x, copysign(r, x))


@jit
def hypot(x, y):
    """sqrt(x * x + y * y) without overflow between."""
    a = math.maximum(abs(x), abs(y))
    b = math.minimum(abs(x), abs(y))
    q = b / where(a == 0, a + 1.0, a)
    return where(a == _INF, a, a * sqrt(q * q + 1.0))


# ---- circular and hyperbolic ------------------------------------------------------------


@jit
def tan(x):
    """Tangent of radians."""
    return sin(x) / cos(x)


@jit
def sinpi(x):
    """sin(pi x)."""
    return sin((x - 2.0 * rint(x * 0.5)) * _PI)


@jit
def cospi(x):
    """cos(pi x)."""
    return cos((x - 2.0 * rint(x * 0.5)) * _PI)


@jit
def atan(x):
    """Arc tangent: brought below tan(pi/8), then its power series."""
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
def atan2(y, x):
    """The angle of the point (x, y)."""
    r = atan(y / where(x == 0, x * 0.0 + 1.0, x))
    r = where(x < 0, r + copysign(x * 0.0 + _PI, y), r)
    up = copysign(y * 0.0 + _PI / 2, y)
    r = where(x == 0, where(y == 0, y, up), r)
    return where((y == 0) & (_bits(x) < 0), copysign(y * 0.0 + _PI, y), r)


@jit
def asin(x):
    """Arc sine."""
    return 2.0 * atan(x / (sqrt((1.0 - x) * (1.0 + x)) + 1.0))


@jit
def acos(x):
    """Arc cosine."""
    return 2.0 * atan(sqrt((1.0 - x) / (1.0 + x)))


@jit
def sinh(x):
    """Hyperbolic sine."""
    a = abs(x)
    e = expm1(math.minimum(a, 40.0))
    small = 0.5 * (e + e / (e + 1.0))
    return copysign(where(a < 40.0, small, exp(a - 0.6931471805599453)), x)


@jit
def cosh(x):
    """Hyperbolic cosine."""
    e = exp(abs(x) - 0.6931471805599453)
    return e + 0.25 / e


@jit
def asinh(x):
    """Inverse hyperbolic sine."""
    a = abs(x)
    r = log1p(a + a * a / (sqrt(a * a + 1.0) + 1.0))
    return copysign(where(a > 1.0e9, log(a) + 0.6931471805599453, r), x)


@jit
def acosh(x):
    """Inverse hyperbolic cosine."""
    t = x - 1.0
    return log1p(t + sqrt(t * (x + 1.0)))


@jit
def atanh(x):
    """Inverse hyperbolic tangent."""
    return 0.5 * log1p(2.0 * x / (1.0 - x))


@jit
def erfc(x):
    """1 - erf(x); relative accuracy is lost for large x."""
    return 1.0 - erf(x)


# ---- bits --------------------------------------------------------------------------------


@jit
def popc(x):
    """int32: set bits of an integer."""
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
def clz(x):
    """int32: zeros above the highest set bit."""
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
def ffs(x):
    """int32: position of the lowest set bit, from 1; 0 for 0."""
    below = math.sub(x, 1, sanitize_overflow=False)
    return where(x == 0, 0, popc(x ^ below))


@jit
def float_as_int(x):
    """The bits of a float32 as int32."""
    return x.to(tl.int32, bitcast=True)


@jit
def int_as_float(x):
    """int32 bits as a float32."""
    return x.to(tl.float32, bitcast=True)
