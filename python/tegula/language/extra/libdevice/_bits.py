"""Functions of integers, and of the bits of floats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.constexprs import constexpr_function
from tegula.jit import jit

from ... import core as tl
from ... import math
from ...external import inline_asm_elementwise
from ...math import where
from ...target_info import is_ptx
from ._typed import typed

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "brev", "byte_perm", "clz", "double2hiint", "double2loint", "double_as_longlong",
    "ffs", "float_as_int", "float_as_uint", "hadd", "hiloint2double", "int_as_float",
    "longlong_as_double", "mul24", "mulhi", "popc", "rhadd", "sad", "uint_as_float",
]  # fmt: skip

INTS = "i32, u32, i64, u64"


@constexpr_function
def _unsigned(dtype: tl.dtype) -> tl.dtype:
    return tl.get_int_dtype(dtype.primitive_bitwidth, False)


@constexpr_function
def _count(name: str, wide: bool) -> str:
    """An instruction that makes an int32 of 32 or 64 bits."""
    return f"{name}.b64 $0, $1;" if wide else f"{name}.b32 $0, $1;"


# ---- counting ---------------------------------------------------------------------------


@typed(INTS)
def popc(x) -> tensor:
    """int32: set bits of an integer.

    >>> tl.extra.libdevice.popc(tl.arange(0, 4) * 5)
    int32[4]: [0, 2, 2, 4]
    """
    wide: tl.constexpr = x.dtype.primitive_bitwidth == 64
    if is_ptx():
        return inline_asm_elementwise(
            _count("popc", wide), "=r,l" if wide else "=r,r", (x,), tl.int32, True, 1
        )
    else:
        u = x.to(_unsigned(x.dtype), bitcast=True)
        u = u - ((u >> 1) & (0x5555555555555555 if wide else 0x55555555))
        three: tl.constexpr = 0x3333333333333333 if wide else 0x33333333
        u = (u & three) + ((u >> 2) & three)
        u = (u + (u >> 4)) & (0x0F0F0F0F0F0F0F0F if wide else 0x0F0F0F0F)
        ones: tl.constexpr = 0x0101010101010101 if wide else 0x01010101
        return ((u * ones) >> (56 if wide else 24)).to(tl.int32)


@typed(INTS)
def clz(x) -> tensor:
    """int32: zeros above the highest set bit.

    >>> tl.extra.libdevice.clz(tl.arange(0, 4) * 5)
    int32[4]: [32, 29, 28, 28]
    """
    n: tl.constexpr = x.dtype.primitive_bitwidth
    if is_ptx():
        return inline_asm_elementwise(
            _count("clz", n == 64),
            "=r,l" if n == 64 else "=r,r",
            (x,),
            tl.int32,
            True,
            1,
        )
    else:
        u = x.to(_unsigned(x.dtype), bitcast=True)
        u = u | (u >> 1)
        u = u | (u >> 2)
        u = u | (u >> 4)
        u = u | (u >> 8)
        u = u | (u >> 16)
        if n == 64:
            u = u | (u >> 32)
        return n - popc(u)


@typed(INTS)
def ffs(x) -> tensor:
    """int32: position of the lowest set bit, from 1; 0 for 0.

    >>> tl.extra.libdevice.ffs(tl.arange(0, 4) * 5)
    int32[4]: [0, 1, 2, 1]
    """
    return where(x == 0, 0, popc(x ^ (x - 1)))


@typed(INTS)
def brev(x) -> tensor:
    """The bits in the other order.

    >>> tl.extra.libdevice.brev(tl.arange(0, 4))
    int32[4]: [0, -2147483648, 1073741824, -1073741824]
    """
    wide: tl.constexpr = x.dtype.primitive_bitwidth == 64
    if is_ptx():
        return inline_asm_elementwise(
            _count("brev", wide), "=l,l" if wide else "=r,r", (x,), x.dtype, True, 1
        )
    else:
        u = x.to(_unsigned(x.dtype), bitcast=True)
        one: tl.constexpr = 0x5555555555555555 if wide else 0x55555555
        two: tl.constexpr = 0x3333333333333333 if wide else 0x33333333
        four: tl.constexpr = 0x0F0F0F0F0F0F0F0F if wide else 0x0F0F0F0F
        eight: tl.constexpr = 0x00FF00FF00FF00FF if wide else 0x00FF00FF
        u = ((u >> 1) & one) | ((u & one) << 1)
        u = ((u >> 2) & two) | ((u & two) << 2)
        u = ((u >> 4) & four) | ((u & four) << 4)
        u = ((u >> 8) & eight) | ((u & eight) << 8)
        if wide:
            u = ((u >> 16) & 0x0000FFFF0000FFFF) | ((u & 0x0000FFFF0000FFFF) << 16)
            u = (u >> 32) | (u << 32)
        else:
            u = (u >> 16) | (u << 16)
        return u.to(x.dtype, bitcast=True)


# ---- bytes, products, means -------------------------------------------------------------


@jit
def _chosen(pair, s, at: tl.constexpr):
    """Byte `at` of byte_perm's result."""
    pick = (s >> (4 * at)) & 7
    return ((pair >> (pick * 8).to(tl.uint64)) & 255).to(tl.uint32) << (8 * at)


@typed("i32 i32 i32, u32 u32 u32")
def byte_perm(x, y, s) -> tensor:
    """Four of the eight bytes of x (0 to 3) and y (4 to 7): s has 4 bits for each,
    of which 3 count.

    >>> tl.extra.libdevice.byte_perm(0x33221100, 0x77665544, 0x0426)
    int32: 4465254
    """
    if is_ptx():
        return inline_asm_elementwise(
            "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", (x, y, s & 0x7777), x.dtype, True, 1
        )
    else:
        high = y.to(tl.uint32, bitcast=True).to(tl.uint64) << 32
        pair = high | x.to(tl.uint32, bitcast=True).to(tl.uint64)
        t = s.to(tl.uint32, bitcast=True)
        r = _chosen(pair, t, 0) | _chosen(pair, t, 1)
        r = r | _chosen(pair, t, 2) | _chosen(pair, t, 3)
        return r.to(x.dtype, bitcast=True)


@typed("i32 i32, u32 u32")
def mul24(x, y) -> tensor:
    """The low 32 bits of the product of the low 24 bits of each, by sign.

    >>> tl.extra.libdevice.mul24(tl.arange(0, 4), -3)
    int32[4]: [0, -3, -6, -9]
    """
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@typed("i32 i32, u32 u32, i64 i64, u64 u64")
def mulhi(x, y) -> tensor:
    """The high half of the product, signed for signed types.

    >>> tl.extra.libdevice.mulhi(tl.arange(0, 4) - 2, 1 << 30)
    int32[4]: [-1, -1, 0, 0]
    """
    if x.dtype == tl.int32:
        return ((x.to(tl.int64) * y.to(tl.int64)) >> 32).to(tl.int32)
    elif x.dtype == tl.int64:
        u = math.umulhi(x.to(tl.uint64, bitcast=True), y.to(tl.uint64, bitcast=True))
        return u.to(tl.int64, bitcast=True) - ((x >> 63) & y) - ((y >> 63) & x)
    else:
        return math.umulhi(x, y)


@typed("i32 i32 u32, u32 u32 u32")
def sad(x, y, z) -> tensor:
    """``|x - y| + z``, in the type of x.

    >>> tl.extra.libdevice.sad(tl.arange(0, 4), 2, tl.full((4,), 10, tl.uint32))
    int32[4]: [12, 11, 10, 11]
    """
    if is_ptx():
        return inline_asm_elementwise(
            "sad.s32 $0, $1, $2, $3;"
            if x.dtype == tl.int32
            else "sad.u32 $0, $1, $2, $3;",
            "=r,r,r,r",
            (x, y, z),
            x.dtype,
            True,
            1,
        )
    else:
        apart = where(x < y, y - x, x - y)
        return apart + z.to(x.dtype, bitcast=True)


@typed("i32 i32, u32 u32")
def hadd(x, y) -> tensor:
    """The mean rounded down, without overflow between.

    >>> tl.extra.libdevice.hadd(tl.arange(0, 4), 4)
    int32[4]: [2, 2, 3, 3]
    """
    return (x & y) + ((x ^ y) >> 1)


@typed("i32 i32, u32 u32")
def rhadd(x, y) -> tensor:
    """The mean rounded up, without overflow between.

    >>> tl.extra.libdevice.rhadd(tl.arange(0, 4), 4)
    int32[4]: [2, 3, 3, 4]
    """
    return (x | y) - ((x ^ y) >> 1)


# ---- the bits of floats -----------------------------------------------------------------


@typed("f32")
def float_as_int(x) -> tensor:
    """The bits of a float32 as int32.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.float_as_int(x)
    int32[4]: [0, 1065353216, 1073741824, 1077936128]
    """
    return x.to(tl.int32, bitcast=True)


@typed("f32")
def float_as_uint(x) -> tensor:
    """The bits of a float32, as int32 (Triton's signature of it): float_as_int.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.float_as_uint(-x)
    int32[4]: [-2147483648, -1082130432, -1073741824, -1069547520]
    """
    return x.to(tl.int32, bitcast=True)


@typed("i32")
def int_as_float(x) -> tensor:
    """int32 bits as a float32.

    >>> tl.extra.libdevice.int_as_float(tl.full((2,), 1065353216, tl.int32))
    float32[2]: [1, 1]
    """
    return x.to(tl.float32, bitcast=True)


@typed("u32")
def uint_as_float(x) -> tensor:
    """uint32 bits as a float32.

    >>> tl.extra.libdevice.uint_as_float(tl.full((2,), 3212836864, tl.uint32))
    float32[2]: [-1, -1]
    """
    return x.to(tl.float32, bitcast=True)


@typed("f64")
def double_as_longlong(x) -> tensor:
    """The bits of a float64 as int64.

    >>> tl.extra.libdevice.double_as_longlong(tl.full((2,), 0.0, tl.float64))
    int64[2]: [0, 0]
    """
    return x.to(tl.int64, bitcast=True)


@typed("i64")
def longlong_as_double(x) -> tensor:
    """int64 bits as a float64.

    >>> tl.extra.libdevice.longlong_as_double(tl.full((2,), 1023 << 52, tl.int64))
    float64[2]: [1, 1]
    """
    return x.to(tl.float64, bitcast=True)


@typed("f64")
def double2hiint(x) -> tensor:
    """int32: the upper half of a float64's bits.

    >>> tl.extra.libdevice.double2hiint(tl.full((2,), 1.0, tl.float64))
    int32[2]: [1072693248, 1072693248]
    """
    return (x.to(tl.int64, bitcast=True) >> 32).to(tl.int32)


@typed("f64")
def double2loint(x) -> tensor:
    """int32: the lower half of a float64's bits.

    >>> tl.extra.libdevice.double2loint(tl.arange(1, 5).to(tl.float64) / 8 + 1e-13)
    int32[4]: [3603, 1801, 1801, 901]
    """
    return x.to(tl.int64, bitcast=True).to(tl.int32)


@typed("i32 i32")
def hiloint2double(x, y) -> tensor:
    """The float64 whose bits are x above y.

    >>> tl.extra.libdevice.hiloint2double(1072693248 + tl.arange(0, 2), 0)
    float64[2]: [1, 1]
    """
    low = y.to(tl.uint32, bitcast=True).to(tl.int64)
    return ((x.to(tl.int64) << 32) | low).to(tl.float64, bitcast=True)
