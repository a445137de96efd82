"""What rounding means, in rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

FORM = {np.dtype("f4"): (24, -149, 128), np.dtype("f8"): (53, -1074, 1024)}


def whole(x: Fraction, mode: str) -> int:
    """x as an integer: rn, rz, rd, ru."""
    low = x.numerator // x.denominator
    part = x - low
    if mode == "rn":
        return low + (part > Fraction(1, 2) or (part == Fraction(1, 2) and low & 1))
    if mode == "rd":
        return low
    if mode == "ru":
        return low + (part > 0)
    return low + (part > 0 and low < 0)


def to_float(x: Fraction, dtype: Any, mode: str, zero: float = 0.0) -> Any:
    """x in a float type. zero: what x is when it is 0."""
    dtype = np.dtype(dtype)
    p, least, top = FORM[dtype]
    if not x:
        return dtype.type(zero)
    size = abs(x)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** e:
        e -= 1
    unit = max(e - p + 1, least)
    n = whole(x / Fraction(2) ** unit, mode)
    if abs(n) * Fraction(2) ** unit >= Fraction(2) ** top:
        far = mode == "rn" or mode == ("ru" if n > 0 else "rd")
        big = np.inf if far else np.finfo(dtype).max
        return dtype.type(big if n > 0 else -big)
    return dtype.type(math.copysign(math.ldexp(abs(n), unit), x))


def root(x: Fraction, dtype: Any, mode: str) -> Any:
    """The square root of a positive x: enough bits, the last one odd where it goes on."""
    shift = 200 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2 * 2
    up = x * Fraction(2) ** (2 * (shift // 2))
    n = math.isqrt(up.numerator // up.denominator)
    if Fraction(n * n) != up:
        n = n << 1 | 1
        return to_float(Fraction(n) / Fraction(2) ** (shift // 2 + 1), dtype, mode)
    return to_float(Fraction(n) / Fraction(2) ** (shift // 2), dtype, mode)
