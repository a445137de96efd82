"""Products of microscaled matrices: groups of elements share a scale."""

from __future__ import annotations

from tegula.constexprs import constexpr_function
from tegula.jit import jit

from . import core
from .core import broadcast_to, constexpr, dot, expand_dims, join, reshape
from .core import static_assert, trans
from .math import where


@constexpr_function
def _last_two(shape):
    return [*shape[:-2], shape[-2] * shape[-1]]


@constexpr_function
def _with(shape, last):
    return [*shape, last]


@constexpr_function
def _is_f16(a, b):
    return "fp16" in (a, b)


@jit
def _e2m1(x):
    """float32 from four bits: sign, two of exponent, one of mantissa."""
    x = x.to(core.uint32)
    exponent = (x >> 1) & 3
    normal = ((exponent + 126) << 23) | ((x & 1) << 22)
    small = where((x & 1) == 1, 0.5, 0.0)
    value = where(exponent == 0, small, normal.to(core.float32, bitcast=True))
    return where((x & 8) == 8, -value, value)


@jit
def _unpacked(x):
    """Two elements a byte, the first in the low half, along the last dim."""
    both = join(_e2m1(x & 15), _e2m1(x >> 4))
    return reshape(both, _last_two(both.shape))


@jit
def _elements(x, kind: constexpr, k_pack: constexpr):
    """float32 [.., M, K] of what a format means."""
    if kind == "e2m1":
        if k_pack:
            return _unpacked(x)
        else:
            return trans(_unpacked(trans(x)))
    elif kind == "e4m3":
        return x.to(core.float8e4nv, bitcast=True).to(core.float32)
    elif kind == "e5m2":
        return x.to(core.float8e5, bitcast=True).to(core.float32)
    else:
        static_assert(
            kind == "bf16" or kind == "fp16",
            f"the format {kind} is none of e2m1, e4m3, e5m2, bf16, fp16",
        )
        return x.to(core.float32)


@jit
def _scales(scale):
    """float32 of a block of scales: bytes are powers of two, 255 is NaN."""
    if scale.dtype.is_floating():
        return scale.to(core.float32)
    else:
        e = scale.to(core.uint32)
        bits = where(e == 0, 0x00400000, where(e == 255, 0x7FC00000, e << 23))
        return bits.to(core.uint32).to(core.float32, bitcast=True)


@jit
def _scaled(x, scale, kind: constexpr, k_pack: constexpr, f16: constexpr):
    v = _elements(x, kind, k_pack)
    if scale is not None:
        s = _scales(scale)
        group: constexpr = v.shape[-1] // s.shape[-1]
        static_assert(
            group * s.shape[-1] == v.shape[-1] and group >= 1,
            "the last extent of a block of scales divides K",
        )
        wide = broadcast_to(expand_dims(s, -1), _with(s.shape, group))
        v = v * reshape(wide, v.shape)
    return v.to(core.float16 if f16 else core.bfloat16)


@jit
def dot_scaled(
    lhs,
    lhs_scale,
    lhs_format: constexpr,
    rhs,
    rhs_scale,
    rhs_format: constexpr,
    acc=None,
    fast_math: constexpr = False,
    lhs_k_pack: constexpr = True,
    rhs_k_pack: constexpr = True,
    out_dtype: constexpr = core.float32,
):
    """Product of matrices whose groups of elements along K share a scale.

    Shapes: lhs [M, K], rhs [K, N], and batch dims in front; a format of e2m1 holds two
            elements a byte along K, or along M and N where k_pack is false. lhs_scale
            [M, K / 32], rhs_scale [N, K / 32], or None.
    Types:  formats are e2m1, e4m3, e5m2 (uint8 or float8), bf16, fp16; scales are uint8
            powers of two, or float8. The result is float32.
    Cost:   elements become bfloat16 (float16 with an operand of it) on every target.
    Errors: CompileError[STATIC_ASSERT] for another format, or a scale whose last extent
            does not divide K.

    >>> a = tl.full((16, 32), 1.5, tl.bfloat16)
    >>> scale = tl.full((16, 1), 128, tl.uint8)
    >>> b = tl.full((32, 16), 1.0, tl.bfloat16)
    >>> tl.max(tl.dot_scaled(a, scale, "bf16", b, None, "bf16"))
    float32: 96
    """
    static_assert(out_dtype == core.float32, "dot_scaled gives float32")
    f16: constexpr = _is_f16(lhs_format, rhs_format)
    a = _scaled(lhs, lhs_scale, lhs_format, lhs_k_pack, f16)
    b = _scaled(trans(rhs), rhs_scale, rhs_format, rhs_k_pack, f16)
    return dot(a, trans(b), acc)
