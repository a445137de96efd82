"""Arithmetic with a direction of rounding. How: _rounding.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import core as tl
from ._rounding import (
    round_add,
    round_div,
    round_fma,
    round_mul,
    round_rcp,
    round_sqrt,
)
from ._typed import FF, FFF, F, typed

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "add_rd", "add_rn", "add_ru", "add_rz", "div_rd", "div_rn", "div_ru", "div_rz",
    "fma_rd", "fma_rn", "fma_ru", "fma_rz", "mul_rd", "mul_rn", "mul_ru", "mul_rz",
    "rcp_rd", "rcp_rn", "rcp_ru", "rcp_rz", "sqrt_rd", "sqrt_rn", "sqrt_ru", "sqrt_rz",
    "sub_rd", "sub_rn", "sub_ru", "sub_rz",
]  # fmt: skip


# ---- add --------------------------------------------------------------------------------


@typed(FF)
def add_rn(x, y) -> tensor:
    """x + y, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.add_rn(x, x * 1e-9 + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return round_add(x, y, "rn")


@typed(FF)
def add_rz(x, y) -> tensor:
    """x + y, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.add_rz(x, x * 1e-9 + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return round_add(x, y, "rz")


@typed(FF)
def add_rd(x, y) -> tensor:
    """x + y, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.add_rd(x, x * 1e-9 + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return round_add(x, y, "rd")


@typed(FF)
def add_ru(x, y) -> tensor:
    """x + y, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.add_ru(x, x * 1e-9 + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return round_add(x, y, "ru")


# ---- sub --------------------------------------------------------------------------------


@typed(FF)
def sub_rn(x, y) -> tensor:
    """x - y, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sub_rn(x, x * 1e-9 + 0.1)
    float32[4]: [-0.1, 0.9, 1.9, 2.9]
    """
    return round_add(x, -y, "rn")


@typed(FF)
def sub_rz(x, y) -> tensor:
    """x - y, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sub_rz(x, x * 1e-9 + 0.1)
    float32[4]: [-0.1, 0.9, 1.9, 2.9]
    """
    return round_add(x, -y, "rz")


@typed(FF)
def sub_rd(x, y) -> tensor:
    """x - y, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sub_rd(x, x * 1e-9 + 0.1)
    float32[4]: [-0.1, 0.9, 1.9, 2.9]
    """
    return round_add(x, -y, "rd")


@typed(FF)
def sub_ru(x, y) -> tensor:
    """x - y, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sub_ru(x, x * 1e-9 + 0.1)
    float32[4]: [-0.1, 0.9, 1.9, 2.9]
    """
    return round_add(x, -y, "ru")


# ---- mul --------------------------------------------------------------------------------


@typed(FF)
def mul_rn(x, y) -> tensor:
    """x * y, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.mul_rn(x, x + 0.1)
    float32[4]: [0, 1.1, 4.2, 9.3]
    """
    return round_mul(x, y, "rn")


@typed(FF)
def mul_rz(x, y) -> tensor:
    """x * y, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.mul_rz(x, x + 0.1)
    float32[4]: [0, 1.1, 4.2, 9.3]
    """
    return round_mul(x, y, "rz")


@typed(FF)
def mul_rd(x, y) -> tensor:
    """x * y, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.mul_rd(x, x + 0.1)
    float32[4]: [0, 1.1, 4.2, 9.3]
    """
    return round_mul(x, y, "rd")


@typed(FF)
def mul_ru(x, y) -> tensor:
    """x * y, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.mul_ru(x, x + 0.1)
    float32[4]: [0, 1.1, 4.2, 9.3]
    """
    return round_mul(x, y, "ru")


# ---- fma --------------------------------------------------------------------------------


@typed(FFF)
def fma_rn(x, y, z) -> tensor:
    """x * y + z, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fma_rn(x, x + 0.1, 0.3)
    float32[4]: [0.3, 1.4, 4.5, 9.6]
    """
    return round_fma(x, y, z, "rn")


@typed(FFF)
def fma_rz(x, y, z) -> tensor:
    """x * y + z, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fma_rz(x, x + 0.1, 0.3)
    float32[4]: [0.3, 1.4, 4.5, 9.6]
    """
    return round_fma(x, y, z, "rz")


@typed(FFF)
def fma_rd(x, y, z) -> tensor:
    """x * y + z, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fma_rd(x, x + 0.1, 0.3)
    float32[4]: [0.3, 1.4, 4.5, 9.6]
    """
    return round_fma(x, y, z, "rd")


@typed(FFF)
def fma_ru(x, y, z) -> tensor:
    """x * y + z, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fma_ru(x, x + 0.1, 0.3)
    float32[4]: [0.3, 1.4, 4.5, 9.6]
    """
    return round_fma(x, y, z, "ru")


# ---- div --------------------------------------------------------------------------------


@typed(FF)
def div_rn(x, y) -> tensor:
    """x / y, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.div_rn(x, x + 3.0)
    float32[4]: [0, 0.25, 0.4, 0.5]
    """
    return round_div(x, y, "rn")


@typed(FF)
def div_rz(x, y) -> tensor:
    """x / y, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.div_rz(x, x + 3.0)
    float32[4]: [0, 0.25, 0.4, 0.5]
    """
    return round_div(x, y, "rz")


@typed(FF)
def div_rd(x, y) -> tensor:
    """x / y, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.div_rd(x, x + 3.0)
    float32[4]: [0, 0.25, 0.4, 0.5]
    """
    return round_div(x, y, "rd")


@typed(FF)
def div_ru(x, y) -> tensor:
    """x / y, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.div_ru(x, x + 3.0)
    float32[4]: [0, 0.25, 0.4, 0.5]
    """
    return round_div(x, y, "ru")


# ---- rcp --------------------------------------------------------------------------------


@typed(F)
def rcp_rn(x) -> tensor:
    """1 / x, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rcp_rn(x + 1.0)
    float32[4]: [1, 0.5, 0.3333, 0.25]
    """
    return round_rcp(x, "rn")


@typed(F)
def rcp_rz(x) -> tensor:
    """1 / x, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rcp_rz(x + 1.0)
    float32[4]: [1, 0.5, 0.3333, 0.25]
    """
    return round_rcp(x, "rz")


@typed(F)
def rcp_rd(x) -> tensor:
    """1 / x, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rcp_rd(x + 1.0)
    float32[4]: [1, 0.5, 0.3333, 0.25]
    """
    return round_rcp(x, "rd")


@typed(F)
def rcp_ru(x) -> tensor:
    """1 / x, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.rcp_ru(x + 1.0)
    float32[4]: [1, 0.5, 0.3333, 0.25]
    """
    return round_rcp(x, "ru")


# ---- sqrt -------------------------------------------------------------------------------


@typed(F)
def sqrt_rn(x) -> tensor:
    """The square root of x, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sqrt_rn(x)
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return round_sqrt(x, "rn")


@typed(F)
def sqrt_rz(x) -> tensor:
    """The square root of x, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sqrt_rz(x)
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return round_sqrt(x, "rz")


@typed(F)
def sqrt_rd(x) -> tensor:
    """The square root of x, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sqrt_rd(x)
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return round_sqrt(x, "rd")


@typed(F)
def sqrt_ru(x) -> tensor:
    """The square root of x, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.sqrt_ru(x)
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return round_sqrt(x, "ru")
