"""Functions of CUDA's libdevice that ``tl.extra.libdevice`` does not name, as Triton's does
not: the language has them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ...math import maximum, minimum
from ._typed import typed

if TYPE_CHECKING:
    from ...types import tensor


@typed("f32 f32, f64 f64")
def fmin(x, y) -> tensor:
    return minimum(x, y)


@typed("f32 f32, f64 f64")
def fmax(x, y) -> tensor:
    return maximum(x, y)


@jit
def _as(x, signed: tl.constexpr):
    to: tl.constexpr = tl.get_int_dtype(x.dtype.primitive_bitwidth, signed)
    return x.to(to, bitcast=True)


@typed("i32 i32, u32 u32, i64 i64, u64 u64")
def int_min(x, y) -> tensor:
    return _as(minimum(_as(x, True), _as(y, True)), x.dtype.is_int_signed())


@typed("i32 i32, u32 u32, i64 i64, u64 u64")
def int_max(x, y) -> tensor:
    return _as(maximum(_as(x, True), _as(y, True)), x.dtype.is_int_signed())


@typed("i32 i32, u32 u32, i64 i64, u64 u64")
def uint_min(x, y) -> tensor:
    return _as(minimum(_as(x, False), _as(y, False)), x.dtype.is_int_signed())


@typed("i32 i32, u32 u32, i64 i64, u64 u64")
def uint_max(x, y) -> tensor:
    return _as(maximum(_as(x, False), _as(y, False)), x.dtype.is_int_signed())


@typed("f32")
def float2half_rn(x) -> tensor:
    return x.to(tl.float16).to(tl.int16, bitcast=True)


@typed("i16, u16")
def half2float(x) -> tensor:
    return x.to(tl.float16, bitcast=True).to(tl.float32)
