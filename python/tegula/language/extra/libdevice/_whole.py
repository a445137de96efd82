"""Classes of numbers, rounding to whole ones, exponents, remainders: all exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...math import abs, floor, where
from ._rounding import to_int
from ._typed import FF, INF, F, bits, is_negative, no_number, scaled, typed, unit
from ._typed import with_sign

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "copysign", "fdim", "finitef", "fmod", "ilogb", "isfinited", "isinf", "isnan",
    "ldexp", "llrint", "llround", "logb", "nearbyint", "nextafter", "remainder", "rint",
    "round", "saturatef", "scalbn", "signbit", "trunc",
]  # fmt: skip


# ---- classes of numbers, signs -------------------------------------------------------


@typed(F)
def isnan(x) -> tensor:
    """int1: is x not a number?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.isnan(x / x)
    int1[4]: [1, 0, 0, 0]
    """
    return x != x


@typed(F)
def isinf(x) -> tensor:
    """int1: is x infinite?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.isinf(1.0 / x)
    int1[4]: [1, 0, 0, 0]
    """
    return abs(x) == INF


@typed("f32")
def finitef(x) -> tensor:
    """int1: is the float32 x finite?

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.finitef(1.0 / x)
    int1[4]: [0, 1, 1, 1]
    """
    return abs(x) < INF


@typed("f64")
def isfinited(x) -> tensor:
    """int1: is the float64 x finite?

    >>> x = tl.load(x_ptr + tl.arange(0, 4)).to(tl.float64)
    >>> tl.extra.libdevice.isfinited(1.0 / x)
    int1[4]: [0, 1, 1, 1]
    """
    return abs(x) < INF


@typed(F)
def signbit(x) -> tensor:
    """int32: 1 for negative numbers and -0.0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.signbit(x)
    int32[4]: [1, 1, 0, 0]
    """
    return is_negative(x).to(tl.int32)


@typed(FF)
def copysign(x, y) -> tensor:
    """The magnitude of x with the sign of y.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.copysign(x, -1.0)
    float32[4]: [-0, -1, -2, -3]
    """
    return with_sign(x, y)


@typed(FF)
def nextafter(x, y) -> tensor:
    """The neighbour of x on the way to y; y where they are equal.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.nextafter(x, 10.0) - x
    float32[4]: [1.401e-45, 1.192e-07, 2.384e-07, 2.384e-07]
    """
    w = bits(x)
    up = (x < y) ^ (w < 0)
    w = where(up, w + 1, w - 1)
    least = with_sign((w * 0 + 1).to(x.dtype, bitcast=True), y)
    r = where(x == 0, least, w.to(x.dtype, bitcast=True))
    r = where(x == y, y, r)
    return where((x != x) | (y != y), x + y, r)


# ---- rounding ------------------------------------------------------------------------


@typed(F)
def trunc(x) -> tensor:
    """Round towards zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.75
    >>> tl.extra.libdevice.trunc(x)
    float32[4]: [0, 0, 1, 2]
    """
    return with_sign(floor(abs(x)), x)


@typed(F)
def round(x) -> tensor:
    """Round to the nearest integer, halves away from zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.5
    >>> tl.extra.libdevice.round(x)
    float32[4]: [0, 1, 1, 2]
    """
    low = floor(abs(x))
    return with_sign(where(abs(x) - low >= 0.5, low + 1.0, low), x)


@typed(F)
def rint(x) -> tensor:
    """Round to the nearest integer, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.5
    >>> tl.extra.libdevice.rint(x)
    float32[4]: [0, 0, 1, 2]
    """
    return math.rint(x)


@typed(F)
def nearbyint(x) -> tensor:
    """Round to the nearest integer, halves to even, as rint.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.5
    >>> tl.extra.libdevice.nearbyint(x)
    float32[4]: [0, 0, 1, 2]
    """
    return math.rint(x)


@typed(F)
def llrint(x) -> tensor:
    """int64: rint(x), to the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.5
    >>> tl.extra.libdevice.llrint(x)
    int64[4]: [0, 0, 1, 2]
    """
    return to_int(x, "rn", tl.int64, -(2**63))


@typed(F)
def llround(x) -> tensor:
    """int64: round(x), to the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) * 0.5
    >>> tl.extra.libdevice.llround(x)
    int64[4]: [0, 1, 1, 2]
    """
    return to_int(round(x), "rz", tl.int64, -(2**63))


@typed("f32")
def saturatef(x) -> tensor:
    """x between 0 and 1; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) / 2 - 0.5
    >>> tl.extra.libdevice.saturatef(x)
    float32[4]: [0, 0, 0.5, 1]
    """
    return math.minimum(math.maximum(x, 0.0), 1.0)


@typed(FF)
def fdim(x, y) -> tensor:
    """x - y where that is positive, else 0; NaN where either is.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fdim(x, 3.0 - x)
    float32[4]: [0, 0, 1, 3]
    """
    return where(x <= y, 0.0, x - y)


# ---- exponents -----------------------------------------------------------------------


@typed(F)
def ilogb(x) -> tensor:
    """int32: the exponent of x, whose significand is in 1 .. 2.

    0 and NaN give -2^31, infinity gives 2^31 - 1.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) + 1.0
    >>> tl.extra.libdevice.ilogb(x)
    int32[4]: [0, 1, 1, 2]
    """
    _, e = unit(x)
    e = where(abs(x) == INF, 2147483647, e)
    return where((x == 0) | (x != x), -2147483648, e)


@typed(F)
def logb(x) -> tensor:
    """The exponent of x as a float: -inf at 0, inf at both infinities.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) + 1.0
    >>> tl.extra.libdevice.logb(x)
    float32[4]: [0, 1, 1, 2]
    """
    _, e = unit(x)
    r = where(abs(x) < INF, e.to(x.dtype), x * x)
    return where(x == 0, -INF, r)


@typed("f32 i32, f64 i32")
def ldexp(x, y) -> tensor:
    """``x * 2^y``, rounded once.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.ldexp(x, tl.arange(0, 4))
    float32[4]: [0, 2, 8, 24]
    """
    return scaled(x, y)


@typed("f32 i32, f64 i32")
def scalbn(x, y) -> tensor:
    """``x * 2^y``, rounded once, as ldexp.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.scalbn(x, -1)
    float32[4]: [0, 0.5, 1, 1.5]
    """
    return scaled(x, y)


# ---- remainders ----------------------------------------------------------------------


@typed(FF)
def fmod(x, y) -> tensor:
    """x - n y with the sign of x, n whole and not beyond x / y. Exact.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fmod(x * 10.0, x + 2.0)
    float32[4]: [0, 1, 0, 0]
    """
    return x % y


@typed(FF)
def remainder(x, y) -> tensor:
    """x - n y, where n is x / y rounded to the nearest integer, halves to even. Exact.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.remainder(x * 10.0, x + 2.0)
    float32[4]: [0, 1, 0, 0]
    """
    huge: tl.constexpr = 2.0**1023 if x.dtype == tl.float64 else 2.0**127
    ay = abs(y)
    # Modulo 2y first: whether y is still in it is n's last bit. Beside a huge y, x is so.
    r = abs(x) % where(ay < huge, ay + ay, ay)
    r = where((ay >= huge) & (ay < INF), abs(x), r)
    odd = r >= ay
    r = where(odd, r - ay, r)
    rest = ay - r
    down = (r > rest) | ((r == rest) & odd)
    r = where(down & (ay < INF), r - ay, r)
    r = where((y == 0) | (abs(x) == INF), no_number(x), r)
    r = where(r == 0, with_sign(r, x), where(is_negative(x), -r, r))
    return where(y == y, r, y)
