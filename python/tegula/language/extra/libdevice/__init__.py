"""The mathematical functions that CUDA calls libdevice, written in the language.

Types: float32 and float64 unless a function says otherwise, as Triton's.
Accuracy: a few ulp where no function of the core exists; none needs CUDA's bitcode file,
so they give the same on every target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import ceil as ceil
from ...math import cos as cos
from ...math import erf as erf
from ...math import exp as exp
from ...math import exp2 as exp2
from ...math import floor as floor
from ...math import log as log
from ...math import log2 as log2
from ...math import rsqrt as rsqrt
from ...math import sin as sin
from ...math import sqrt as sqrt
from ...math import tanh as tanh
from ...math import where as where

from ._bits import brev as brev
from ._bits import byte_perm as byte_perm
from ._bits import clz as clz
from ._bits import double2hiint as double2hiint
from ._bits import double2loint as double2loint
from ._bits import double_as_longlong as double_as_longlong
from ._bits import ffs as ffs
from ._bits import float_as_int as float_as_int
from ._bits import float_as_uint as float_as_uint
from ._bits import hadd as hadd
from ._bits import hiloint2double as hiloint2double
from ._bits import int_as_float as int_as_float
from ._bits import longlong_as_double as longlong_as_double
from ._bits import mul24 as mul24
from ._bits import mulhi as mulhi
from ._bits import popc as popc
from ._bits import rhadd as rhadd
from ._bits import sad as sad
from ._bits import uint_as_float as uint_as_float
from ._whole import copysign as copysign
from ._whole import fdim as fdim
from ._whole import finitef as finitef
from ._whole import fmod as fmod
from ._whole import ilogb as ilogb
from ._whole import isfinited as isfinited
from ._whole import isinf as isinf
from ._whole import isnan as isnan
from ._whole import ldexp as ldexp
from ._whole import llrint as llrint
from ._whole import llround as llround
from ._whole import logb as logb
from ._whole import nearbyint as nearbyint
from ._whole import nextafter as nextafter
from ._whole import remainder as remainder
from ._whole import rint as rint
from ._whole import round as round
from ._whole import saturatef as saturatef
from ._whole import scalbn as scalbn
from ._whole import signbit as signbit
from ._whole import trunc as trunc
from ._arithmetic import add_rd as add_rd
from ._arithmetic import add_rn as add_rn
from ._arithmetic import add_ru as add_ru
from ._arithmetic import add_rz as add_rz
from ._arithmetic import div_rd as div_rd
from ._arithmetic import div_rn as div_rn
from ._arithmetic import div_ru as div_ru
from ._arithmetic import div_rz as div_rz
from ._arithmetic import fma_rd as fma_rd
from ._arithmetic import fma_rn as fma_rn
from ._arithmetic import fma_ru as fma_ru
from ._arithmetic import fma_rz as fma_rz
from ._arithmetic import mul_rd as mul_rd
from ._arithmetic import mul_rn as mul_rn
from ._arithmetic import mul_ru as mul_ru
from ._arithmetic import mul_rz as mul_rz
from ._arithmetic import rcp_rd as rcp_rd
from ._arithmetic import rcp_rn as rcp_rn
from ._arithmetic import rcp_ru as rcp_ru
from ._arithmetic import rcp_rz as rcp_rz
from ._arithmetic import sqrt_rd as sqrt_rd
from ._arithmetic import sqrt_rn as sqrt_rn
from ._arithmetic import sqrt_ru as sqrt_ru
from ._arithmetic import sqrt_rz as sqrt_rz
from ._arithmetic import sub_rd as sub_rd
from ._arithmetic import sub_rn as sub_rn
from ._arithmetic import sub_ru as sub_ru
from ._arithmetic import sub_rz as sub_rz
from ._conversions import double2float_rd as double2float_rd
from ._conversions import double2float_rn as double2float_rn
from ._conversions import double2float_ru as double2float_ru
from ._conversions import double2float_rz as double2float_rz
from ._conversions import double2int_rd as double2int_rd
from ._conversions import double2int_rn as double2int_rn
from ._conversions import double2int_ru as double2int_ru
from ._conversions import double2int_rz as double2int_rz
from ._conversions import double2ll_rd as double2ll_rd
from ._conversions import double2ll_rn as double2ll_rn
from ._conversions import double2ll_ru as double2ll_ru
from ._conversions import double2ll_rz as double2ll_rz
from ._conversions import double2uint_rd as double2uint_rd
from ._conversions import double2uint_rn as double2uint_rn
from ._conversions import double2uint_ru as double2uint_ru
from ._conversions import double2uint_rz as double2uint_rz
from ._conversions import double2ull_rd as double2ull_rd
from ._conversions import double2ull_rn as double2ull_rn
from ._conversions import double2ull_ru as double2ull_ru
from ._conversions import double2ull_rz as double2ull_rz
from ._conversions import float2int_rd as float2int_rd
from ._conversions import float2int_rn as float2int_rn
from ._conversions import float2int_ru as float2int_ru
from ._conversions import float2int_rz as float2int_rz
from ._conversions import float2ll_rd as float2ll_rd
from ._conversions import float2ll_rn as float2ll_rn
from ._conversions import float2ll_ru as float2ll_ru
from ._conversions import float2ll_rz as float2ll_rz
from ._conversions import float2uint_rd as float2uint_rd
from ._conversions import float2uint_rn as float2uint_rn
from ._conversions import float2uint_ru as float2uint_ru
from ._conversions import float2uint_rz as float2uint_rz
from ._conversions import float2ull_rd as float2ull_rd
from ._conversions import float2ull_rn as float2ull_rn
from ._conversions import float2ull_ru as float2ull_ru
from ._conversions import float2ull_rz as float2ull_rz
from ._conversions import int2double_rn as int2double_rn
from ._conversions import int2float_rd as int2float_rd
from ._conversions import int2float_rn as int2float_rn
from ._conversions import int2float_ru as int2float_ru
from ._conversions import int2float_rz as int2float_rz
from ._conversions import ll2double_rd as ll2double_rd
from ._conversions import ll2double_rn as ll2double_rn
from ._conversions import ll2double_ru as ll2double_ru
from ._conversions import ll2double_rz as ll2double_rz
from ._conversions import ll2float_rd as ll2float_rd
from ._conversions import ll2float_rn as ll2float_rn
from ._conversions import ll2float_ru as ll2float_ru
from ._conversions import ll2float_rz as ll2float_rz
from ._conversions import uint2double_rn as uint2double_rn
from ._conversions import uint2float_rd as uint2float_rd
from ._conversions import uint2float_rn as uint2float_rn
from ._conversions import uint2float_ru as uint2float_ru
from ._conversions import uint2float_rz as uint2float_rz
from ._conversions import ull2double_rd as ull2double_rd
from ._conversions import ull2double_rn as ull2double_rn
from ._conversions import ull2double_ru as ull2double_ru
from ._conversions import ull2double_rz as ull2double_rz
from ._conversions import ull2float_rd as ull2float_rd
from ._conversions import ull2float_rn as ull2float_rn
from ._conversions import ull2float_ru as ull2float_ru
from ._conversions import ull2float_rz as ull2float_rz
from ...math import abs as abs
from ...math import fma as fma

if TYPE_CHECKING:
    from ...types import tensor

fast_expf = exp
fast_logf = log
fast_log2f = log2
fast_sinf = sin
fast_cosf = cos
fast_tanhf = tanh
fast_dividef = math.fdiv

_PI = tl.constexpr(3.141592653589793)
_INF = tl.constexpr(float("inf"))


@jit
def _bits(x):
    return x.to(tl.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


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
