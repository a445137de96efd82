"""Products of microscaled matrices: groups of elements share a scale."""

from __future__ import annotations

from tegula.constexprs import constexpr_function
from tegula.jit import jit

from . import core
from .core import constexpr, dot, expand_dims, join, reshape, static_assert, trans
from .math import where


@constexpr_function
def _last_two(shape):
    return [*shape[:-2], shape[-2] * shape[-1]]


@constexpr_function
def _is_f16(a, b):
    return "fp16" in (a, b)


@constexpr_function
def _matrix(shape, packed, k_pack, is_rhs):
    """[.., rows, K] of an operand: rhs is given as [.., K, N]; a byte may hold two."""
    *batch, rows, k = [*shape[:-2], shape[-1], shape[-2]] if is_rhs else shape
    return [*batch, rows * (1 + (packed and not k_pack)), k * (1 + (packed and k_pack))]


@constexpr_function
def _has_rows(matrix, scale_shape):
    return list(matrix)[:-1] == [*scale_shape][:-1]


@constexpr_function
def _grouped(shape, groups):
    return [*shape[:-1], groups, shape[-1] // groups]


@jit
def _e2m1(x):
    """float32 from four bits: sign, two of exponent, one of mantissa.

    In their places of a float they are the number times 2^-126, its subnormal too.
    """
    x = x.to(core.uint32)
    bits = ((x & 7) << 22) | ((x & 8) << 28)
    return bits.to(core.float32, bitcast=True) * 2.0**126


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
def _times(v, scale, f16: constexpr):
    """v times its scales, as the operand of a product: the elements change shape and not
    the scales, of which a thread then holds only those it needs."""
    if scale is not None:
        s = _scales(scale)
        groups: constexpr = s.shape[-1]
        v = reshape(reshape(v, _grouped(v.shape, groups)) * expand_dims(s, -1), v.shape)
    return v.to(core.float16 if f16 else core.bfloat16)


@jit
def _scaled(x, scale, kind: constexpr, k_pack: constexpr, f16: constexpr):
    packed: constexpr = kind == "e2m1" and k_pack
    k: constexpr = x.shape[-1] * (2 if packed else 1)
    if scale is not None:
        static_assert(
            k % scale.shape[-1] == 0,
            "the last extent of a block of scales divides K",
        )
    if packed and (scale is None or k >= 2 * scale.shape[-1]):
        # The neighbours of a byte have one scale; they meet when they are small.
        both = join(
            _times(_e2m1(x & 15), scale, f16), _times(_e2m1(x >> 4), scale, f16)
        )
        return reshape(both, _last_two(both.shape))
    else:
        return _times(_elements(x, kind, k_pack), scale, f16)


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
    Errors: CompileError[STATIC_ASSERT] for another format, operands of two K, or a scale
            that has other rows than its operand, whose last extent does not divide K or
            is not that of the other scale.

    >>> a = tl.full((16, 32), 1.5, tl.bfloat16)
    >>> scale = tl.full((16, 1), 128, tl.uint8)
    >>> b = tl.full((32, 16), 1.0, tl.bfloat16)
    >>> tl.max(tl.dot_scaled(a, scale, "bf16", b, None, "bf16"))
    float32: 96
    """
    static_assert(out_dtype == core.float32, "dot_scaled gives float32")
    static_assert(
        len(lhs.shape) >= 2 and len(rhs.shape) >= 2,
        f"dot_scaled multiplies [M, K] by [K, N], not {lhs.shape} by {rhs.shape}",
    )
    m: constexpr = _matrix(lhs.shape, lhs_format == "e2m1", lhs_k_pack, False)
    n: constexpr = _matrix(rhs.shape, rhs_format == "e2m1", rhs_k_pack, True)
    static_assert(
        m[-1] == n[-1], f"K is {m[-1]} of lhs and {n[-1]} of rhs: [M, K] @ [K, N]"
    )
    if lhs_scale is not None:
        static_assert(
            _has_rows(m, lhs_scale.shape),
            f"lhs_scale is {lhs_scale.shape}, and lhs has {m[-2]} rows: [M, K / 32]",
        )
    if rhs_scale is not None:
        static_assert(
            _has_rows(n, rhs_scale.shape),
            f"rhs_scale is {rhs_scale.shape}, and rhs has {n[-2]} columns: [N, K / 32]",
        )
    if lhs_scale is not None and rhs_scale is not None:
        static_assert(
            lhs_scale.shape[-1] == rhs_scale.shape[-1],
            f"groups of {m[-1] // lhs_scale.shape[-1]} elements of lhs share a scale, and "
            f"of {n[-1] // rhs_scale.shape[-1]} of rhs: [M, K / 32] and [N, K / 32]",
        )
    f16: constexpr = _is_f16(lhs_format, rhs_format)
    a = _scaled(lhs, lhs_scale, lhs_format, lhs_k_pack, f16)
    b = _scaled(trans(rhs), rhs_scale, rhs_format, rhs_k_pack, f16)
    return dot(a, trans(b), acc)
