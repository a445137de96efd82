"""From one type to another, with a direction of rounding. How: _rounding.py.

The integers of functions named ``uint`` and ``ull`` are unsigned as in CUDA, and their bits
come as int32 and int64, as in Triton: ``.to(tl.uint32)`` makes them what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import core as tl
from ._rounding import narrow, to_double, to_float, to_int
from ._typed import typed

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "double2float_rd", "double2float_rn", "double2float_ru", "double2float_rz",
    "double2int_rd", "double2int_rn", "double2int_ru", "double2int_rz", "double2ll_rd",
    "double2ll_rn", "double2ll_ru", "double2ll_rz", "double2uint_rd", "double2uint_rn",
    "double2uint_ru", "double2uint_rz", "double2ull_rd", "double2ull_rn",
    "double2ull_ru", "double2ull_rz", "float2int_rd", "float2int_rn", "float2int_ru",
    "float2int_rz", "float2ll_rd", "float2ll_rn", "float2ll_ru", "float2ll_rz",
    "float2uint_rd", "float2uint_rn", "float2uint_ru", "float2uint_rz", "float2ull_rd",
    "float2ull_rn", "float2ull_ru", "float2ull_rz", "int2double_rn", "int2float_rd",
    "int2float_rn", "int2float_ru", "int2float_rz", "ll2double_rd", "ll2double_rn",
    "ll2double_ru", "ll2double_rz", "ll2float_rd", "ll2float_rn", "ll2float_ru",
    "ll2float_rz", "uint2double_rn", "uint2float_rd", "uint2float_rn", "uint2float_ru",
    "uint2float_rz", "ull2double_rd", "ull2double_rn", "ull2double_ru", "ull2double_rz",
    "ull2float_rd", "ull2float_rn", "ull2float_ru", "ull2float_rz",
]  # fmt: skip


@typed("f64")
def double2float_rn(x) -> tensor:
    """float64 to float32, rounded to nearest, halves to even.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.double2float_rn(x.to(tl.float64) + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return x.to(tl.float32)


@typed("f64")
def double2float_rz(x) -> tensor:
    """float64 to float32, rounded toward zero.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.double2float_rz(x.to(tl.float64) + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return narrow(x, "rz")


@typed("f64")
def double2float_rd(x) -> tensor:
    """float64 to float32, rounded down.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.double2float_rd(x.to(tl.float64) + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return narrow(x, "rd")


@typed("f64")
def double2float_ru(x) -> tensor:
    """float64 to float32, rounded up.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.double2float_ru(x.to(tl.float64) + 0.1)
    float32[4]: [0.1, 1.1, 2.1, 3.1]
    """
    return narrow(x, "ru")


@typed("f32")
def float2int_rn(x) -> tensor:
    """float32 to int32, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2int_rn(x)
    int32[4]: [-2, 0, 0, 2]
    """
    return to_int(x, "rn", tl.int32, 0)


@typed("f32")
def float2int_rz(x) -> tensor:
    """float32 to int32, rounded toward zero.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2int_rz(x)
    int32[4]: [-1, 0, 0, 1]
    """
    return to_int(x, "rz", tl.int32, 0)


@typed("f32")
def float2int_rd(x) -> tensor:
    """float32 to int32, rounded down.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2int_rd(x)
    int32[4]: [-2, -1, 0, 1]
    """
    return to_int(x, "rd", tl.int32, 0)


@typed("f32")
def float2int_ru(x) -> tensor:
    """float32 to int32, rounded up.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2int_ru(x)
    int32[4]: [-1, 0, 1, 2]
    """
    return to_int(x, "ru", tl.int32, 0)


@typed("f32")
def float2uint_rn(x) -> tensor:
    """float32 to the bits of uint32, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2uint_rn(x)
    int32[4]: [0, 0, 0, 2]
    """
    return to_int(x, "rn", tl.uint32, 0).to(tl.int32, bitcast=True)


@typed("f32")
def float2uint_rz(x) -> tensor:
    """float32 to the bits of uint32, rounded toward zero.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2uint_rz(x)
    int32[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rz", tl.uint32, 0).to(tl.int32, bitcast=True)


@typed("f32")
def float2uint_rd(x) -> tensor:
    """float32 to the bits of uint32, rounded down.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2uint_rd(x)
    int32[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rd", tl.uint32, 0).to(tl.int32, bitcast=True)


@typed("f32")
def float2uint_ru(x) -> tensor:
    """float32 to the bits of uint32, rounded up.

    Out of range: the nearest that fits; NaN gives 0.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2uint_ru(x)
    int32[4]: [0, 0, 1, 2]
    """
    return to_int(x, "ru", tl.uint32, 0).to(tl.int32, bitcast=True)


@typed("f32")
def float2ll_rn(x) -> tensor:
    """float32 to int64, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ll_rn(x)
    int64[4]: [-2, 0, 0, 2]
    """
    return to_int(x, "rn", tl.int64, -(2**63))


@typed("f32")
def float2ll_rz(x) -> tensor:
    """float32 to int64, rounded toward zero.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ll_rz(x)
    int64[4]: [-1, 0, 0, 1]
    """
    return to_int(x, "rz", tl.int64, -(2**63))


@typed("f32")
def float2ll_rd(x) -> tensor:
    """float32 to int64, rounded down.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ll_rd(x)
    int64[4]: [-2, -1, 0, 1]
    """
    return to_int(x, "rd", tl.int64, -(2**63))


@typed("f32")
def float2ll_ru(x) -> tensor:
    """float32 to int64, rounded up.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ll_ru(x)
    int64[4]: [-1, 0, 1, 2]
    """
    return to_int(x, "ru", tl.int64, -(2**63))


@typed("f32")
def float2ull_rn(x) -> tensor:
    """float32 to the bits of uint64, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ull_rn(x)
    int64[4]: [0, 0, 0, 2]
    """
    return to_int(x, "rn", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f32")
def float2ull_rz(x) -> tensor:
    """float32 to the bits of uint64, rounded toward zero.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ull_rz(x)
    int64[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rz", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f32")
def float2ull_rd(x) -> tensor:
    """float32 to the bits of uint64, rounded down.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ull_rd(x)
    int64[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rd", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f32")
def float2ull_ru(x) -> tensor:
    """float32 to the bits of uint64, rounded up.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.float2ull_ru(x)
    int64[4]: [0, 0, 1, 2]
    """
    return to_int(x, "ru", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f64")
def double2int_rn(x) -> tensor:
    """float64 to int32, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives -2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2int_rn(x.to(tl.float64))
    int32[4]: [-2, 0, 0, 2]
    """
    return to_int(x, "rn", tl.int32, -(2**31))


@typed("f64")
def double2int_rz(x) -> tensor:
    """float64 to int32, rounded toward zero.

    Out of range: the nearest that fits; NaN gives -2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2int_rz(x.to(tl.float64))
    int32[4]: [-1, 0, 0, 1]
    """
    return to_int(x, "rz", tl.int32, -(2**31))


@typed("f64")
def double2int_rd(x) -> tensor:
    """float64 to int32, rounded down.

    Out of range: the nearest that fits; NaN gives -2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2int_rd(x.to(tl.float64))
    int32[4]: [-2, -1, 0, 1]
    """
    return to_int(x, "rd", tl.int32, -(2**31))


@typed("f64")
def double2int_ru(x) -> tensor:
    """float64 to int32, rounded up.

    Out of range: the nearest that fits; NaN gives -2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2int_ru(x.to(tl.float64))
    int32[4]: [-1, 0, 1, 2]
    """
    return to_int(x, "ru", tl.int32, -(2**31))


@typed("f64")
def double2uint_rn(x) -> tensor:
    """float64 to the bits of uint32, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives 2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2uint_rn(x.to(tl.float64))
    int32[4]: [0, 0, 0, 2]
    """
    return to_int(x, "rn", tl.uint32, 2**31).to(tl.int32, bitcast=True)


@typed("f64")
def double2uint_rz(x) -> tensor:
    """float64 to the bits of uint32, rounded toward zero.

    Out of range: the nearest that fits; NaN gives 2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2uint_rz(x.to(tl.float64))
    int32[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rz", tl.uint32, 2**31).to(tl.int32, bitcast=True)


@typed("f64")
def double2uint_rd(x) -> tensor:
    """float64 to the bits of uint32, rounded down.

    Out of range: the nearest that fits; NaN gives 2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2uint_rd(x.to(tl.float64))
    int32[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rd", tl.uint32, 2**31).to(tl.int32, bitcast=True)


@typed("f64")
def double2uint_ru(x) -> tensor:
    """float64 to the bits of uint32, rounded up.

    Out of range: the nearest that fits; NaN gives 2^31.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2uint_ru(x.to(tl.float64))
    int32[4]: [0, 0, 1, 2]
    """
    return to_int(x, "ru", tl.uint32, 2**31).to(tl.int32, bitcast=True)


@typed("f64")
def double2ll_rn(x) -> tensor:
    """float64 to int64, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ll_rn(x.to(tl.float64))
    int64[4]: [-2, 0, 0, 2]
    """
    return to_int(x, "rn", tl.int64, -(2**63))


@typed("f64")
def double2ll_rz(x) -> tensor:
    """float64 to int64, rounded toward zero.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ll_rz(x.to(tl.float64))
    int64[4]: [-1, 0, 0, 1]
    """
    return to_int(x, "rz", tl.int64, -(2**63))


@typed("f64")
def double2ll_rd(x) -> tensor:
    """float64 to int64, rounded down.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ll_rd(x.to(tl.float64))
    int64[4]: [-2, -1, 0, 1]
    """
    return to_int(x, "rd", tl.int64, -(2**63))


@typed("f64")
def double2ll_ru(x) -> tensor:
    """float64 to int64, rounded up.

    Out of range: the nearest that fits; NaN gives -2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ll_ru(x.to(tl.float64))
    int64[4]: [-1, 0, 1, 2]
    """
    return to_int(x, "ru", tl.int64, -(2**63))


@typed("f64")
def double2ull_rn(x) -> tensor:
    """float64 to the bits of uint64, rounded to nearest, halves to even.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ull_rn(x.to(tl.float64))
    int64[4]: [0, 0, 0, 2]
    """
    return to_int(x, "rn", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f64")
def double2ull_rz(x) -> tensor:
    """float64 to the bits of uint64, rounded toward zero.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ull_rz(x.to(tl.float64))
    int64[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rz", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f64")
def double2ull_rd(x) -> tensor:
    """float64 to the bits of uint64, rounded down.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ull_rd(x.to(tl.float64))
    int64[4]: [0, 0, 0, 1]
    """
    return to_int(x, "rd", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("f64")
def double2ull_ru(x) -> tensor:
    """float64 to the bits of uint64, rounded up.

    Out of range: the nearest that fits; NaN gives 2^63.

    >>> x = tl.load(x_ptr + tl.arange(0, 4)) - 1.5
    >>> tl.extra.libdevice.double2ull_ru(x.to(tl.float64))
    int64[4]: [0, 0, 1, 2]
    """
    return to_int(x, "ru", tl.uint64, 2**63).to(tl.int64, bitcast=True)


@typed("i32")
def int2float_rn(x) -> tensor:
    """int32 to float32, rounded to nearest, halves to even.

    >>> x = tl.full((2,), 2**31 - 1, tl.int32)
    >>> tl.extra.libdevice.int2float_rn(x)
    float32[2]: [2.147e+09, 2.147e+09]
    """
    return to_float(x, "rn")


@typed("i32")
def int2float_rz(x) -> tensor:
    """int32 to float32, rounded toward zero.

    >>> x = tl.full((2,), 2**31 - 1, tl.int32)
    >>> tl.extra.libdevice.int2float_rz(x)
    float32[2]: [2.147e+09, 2.147e+09]
    """
    return to_float(x, "rz")


@typed("i32")
def int2float_rd(x) -> tensor:
    """int32 to float32, rounded down.

    >>> x = tl.full((2,), 2**31 - 1, tl.int32)
    >>> tl.extra.libdevice.int2float_rd(x)
    float32[2]: [2.147e+09, 2.147e+09]
    """
    return to_float(x, "rd")


@typed("i32")
def int2float_ru(x) -> tensor:
    """int32 to float32, rounded up.

    >>> x = tl.full((2,), 2**31 - 1, tl.int32)
    >>> tl.extra.libdevice.int2float_ru(x)
    float32[2]: [2.147e+09, 2.147e+09]
    """
    return to_float(x, "ru")


@typed("u32")
def uint2float_rn(x) -> tensor:
    """uint32 to float32, rounded to nearest, halves to even.

    >>> x = tl.full((2,), 2**32 - 1, tl.uint32)
    >>> tl.extra.libdevice.uint2float_rn(x)
    float32[2]: [4.295e+09, 4.295e+09]
    """
    return to_float(x, "rn")


@typed("u32")
def uint2float_rz(x) -> tensor:
    """uint32 to float32, rounded toward zero.

    >>> x = tl.full((2,), 2**32 - 1, tl.uint32)
    >>> tl.extra.libdevice.uint2float_rz(x)
    float32[2]: [4.295e+09, 4.295e+09]
    """
    return to_float(x, "rz")


@typed("u32")
def uint2float_rd(x) -> tensor:
    """uint32 to float32, rounded down.

    >>> x = tl.full((2,), 2**32 - 1, tl.uint32)
    >>> tl.extra.libdevice.uint2float_rd(x)
    float32[2]: [4.295e+09, 4.295e+09]
    """
    return to_float(x, "rd")


@typed("u32")
def uint2float_ru(x) -> tensor:
    """uint32 to float32, rounded up.

    >>> x = tl.full((2,), 2**32 - 1, tl.uint32)
    >>> tl.extra.libdevice.uint2float_ru(x)
    float32[2]: [4.295e+09, 4.295e+09]
    """
    return to_float(x, "ru")


@typed("i64")
def ll2float_rn(x) -> tensor:
    """int64 to float32, rounded to nearest, halves to even.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2float_rn(x)
    float32[2]: [9.223e+18, 9.223e+18]
    """
    return to_float(x, "rn")


@typed("i64")
def ll2float_rz(x) -> tensor:
    """int64 to float32, rounded toward zero.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2float_rz(x)
    float32[2]: [9.223e+18, 9.223e+18]
    """
    return to_float(x, "rz")


@typed("i64")
def ll2float_rd(x) -> tensor:
    """int64 to float32, rounded down.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2float_rd(x)
    float32[2]: [9.223e+18, 9.223e+18]
    """
    return to_float(x, "rd")


@typed("i64")
def ll2float_ru(x) -> tensor:
    """int64 to float32, rounded up.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2float_ru(x)
    float32[2]: [9.223e+18, 9.223e+18]
    """
    return to_float(x, "ru")


@typed("u64")
def ull2float_rn(x) -> tensor:
    """uint64 to float32, rounded to nearest, halves to even.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2float_rn(x)
    float32[2]: [1.845e+19, 1.845e+19]
    """
    return to_float(x, "rn")


@typed("u64")
def ull2float_rz(x) -> tensor:
    """uint64 to float32, rounded toward zero.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2float_rz(x)
    float32[2]: [1.845e+19, 1.845e+19]
    """
    return to_float(x, "rz")


@typed("u64")
def ull2float_rd(x) -> tensor:
    """uint64 to float32, rounded down.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2float_rd(x)
    float32[2]: [1.845e+19, 1.845e+19]
    """
    return to_float(x, "rd")


@typed("u64")
def ull2float_ru(x) -> tensor:
    """uint64 to float32, rounded up.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2float_ru(x)
    float32[2]: [1.845e+19, 1.845e+19]
    """
    return to_float(x, "ru")


@typed("i32")
def int2double_rn(x) -> tensor:
    """int32 to float64, exactly.

    >>> x = tl.arange(0, 4).to(tl.int32)
    >>> tl.extra.libdevice.int2double_rn(x)
    float64[4]: [0, 1, 2, 3]
    """
    return x.to(tl.float64)


@typed("u32")
def uint2double_rn(x) -> tensor:
    """uint32 to float64, exactly.

    >>> x = tl.arange(0, 4).to(tl.uint32)
    >>> tl.extra.libdevice.uint2double_rn(x)
    float64[4]: [0, 1, 2, 3]
    """
    return x.to(tl.float64)


@typed("i64")
def ll2double_rn(x) -> tensor:
    """int64 to float64, rounded to nearest, halves to even.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2double_rn(x)
    float64[2]: [9.223e+18, 9.223e+18]
    """
    return to_double(x, "rn")


@typed("i64")
def ll2double_rz(x) -> tensor:
    """int64 to float64, rounded toward zero.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2double_rz(x)
    float64[2]: [9.223e+18, 9.223e+18]
    """
    return to_double(x, "rz")


@typed("i64")
def ll2double_rd(x) -> tensor:
    """int64 to float64, rounded down.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2double_rd(x)
    float64[2]: [9.223e+18, 9.223e+18]
    """
    return to_double(x, "rd")


@typed("i64")
def ll2double_ru(x) -> tensor:
    """int64 to float64, rounded up.

    >>> x = tl.full((2,), 2**63 - 1, tl.int64)
    >>> tl.extra.libdevice.ll2double_ru(x)
    float64[2]: [9.223e+18, 9.223e+18]
    """
    return to_double(x, "ru")


@typed("u64")
def ull2double_rn(x) -> tensor:
    """uint64 to float64, rounded to nearest, halves to even.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2double_rn(x)
    float64[2]: [1.845e+19, 1.845e+19]
    """
    return to_double(x, "rn")


@typed("u64")
def ull2double_rz(x) -> tensor:
    """uint64 to float64, rounded toward zero.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2double_rz(x)
    float64[2]: [1.845e+19, 1.845e+19]
    """
    return to_double(x, "rz")


@typed("u64")
def ull2double_rd(x) -> tensor:
    """uint64 to float64, rounded down.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2double_rd(x)
    float64[2]: [1.845e+19, 1.845e+19]
    """
    return to_double(x, "rd")


@typed("u64")
def ull2double_ru(x) -> tensor:
    """uint64 to float64, rounded up.

    >>> x = tl.full((2,), 2**64 - 1, tl.uint64)
    >>> tl.extra.libdevice.ull2double_ru(x)
    float64[2]: [1.845e+19, 1.845e+19]
    """
    return to_double(x, "ru")
