"""Counter-based random numbers: Philox 4x32 and 4x64 (Salmon et al., SC 2011).

A number depends on seed and offset alone, so a kernel can be run again and give the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tegula.jit import jit

from . import core as tl
from . import math

if TYPE_CHECKING:
    from .types import tensor

    Four: TypeAlias = tuple[tensor, tensor, tensor, tensor]

N_ROUNDS_DEFAULT = tl.constexpr(10)


@jit
def philox_impl(
    c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT
) -> Four:
    """n_rounds rounds of Philox on four counters with two keys.

    Shapes: the counters broadcast with the keys; four results.
    Types:  uint32 or uint64, all of them.
    Cost:   four multiplications a round.
    Errors: CompileError[STATIC_ASSERT] for another type.

    >>> z = tl.zeros((2,), tl.uint32)
    >>> a, b, c, d = tl.philox_impl(z, z, z, z, 0, 0)
    >>> a
    uint32[2]: [1713891541, 1713891541]
    """
    if c0.dtype == tl.uint32:
        key_a: tl.constexpr = 0x9E3779B9
        key_b: tl.constexpr = 0xBB67AE85
        mul_a: tl.constexpr = 0xD2511F53
        mul_b: tl.constexpr = 0xCD9E8D57
    else:
        tl.static_assert(
            c0.dtype == tl.uint64, "philox_impl: uint32 or uint64 counters"
        )
        key_a: tl.constexpr = 0x9E3779B97F4A7C15
        key_b: tl.constexpr = 0xBB67AE8584CAA73B
        mul_a: tl.constexpr = 0xD2E7470EE14C6C93
        mul_b: tl.constexpr = 0xCA5A826395121157
    for _ in tl.static_range(n_rounds):
        a, b = c0, c2
        c0 = math.umulhi(mul_b, b) ^ c1 ^ k0
        c2 = math.umulhi(mul_a, a) ^ c3 ^ k1
        # These wrap, in debug builds too.
        c1 = math.mul(b, mul_b, sanitize_overflow=False)
        c3 = math.mul(a, mul_a, sanitize_overflow=False)
        k0 = math.add(k0, key_a, sanitize_overflow=False)
        k1 = math.add(k1, key_b, sanitize_overflow=False)
    return c0, c1, c2, c3


@jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of random bits for a seed and four counters.

    Shapes: the counters' common shape, four times.
    Types:  seed: 64 bits of an integer; counters of 32 or 64 bits; the results unsigned
            integers of that width.
    Cost:   ten rounds of four multiplications.
    Errors: CompileError[STATIC_ASSERT] for another width, and a seed that is no integer.

    >>> z = tl.zeros((2,), tl.int32)
    >>> a, b, c, d = tl.philox(7, tl.arange(0, 2), z, z, z)
    >>> b
    uint32[2]: [3221879260, 3415718931]
    """
    seed = tl.to_tensor(seed)
    tl.static_assert(
        seed.dtype.is_int() and not seed.type.is_ptr(),
        f"the seed is an integer, not {seed.dtype}; tl.load(p) reads one from memory",
    )
    seed = seed.to(tl.uint64)
    c0 = tl.to_tensor(c0)
    bits: tl.constexpr = c0.dtype.primitive_bitwidth
    kind: tl.constexpr = tl.get_int_dtype(bits, False)
    if bits == 32:
        k0 = (seed & 0xFFFFFFFF).to(tl.uint32)
        k1 = (seed >> 32).to(tl.uint32)
    else:
        tl.static_assert(bits == 64, "philox: counters of 32 or 64 bits")
        k0 = seed
        k1 = tl.full([], 0, tl.uint64)
    c0 = c0.to(kind, bitcast=True)
    c1 = tl.to_tensor(c1).to(kind, bitcast=True)
    c2 = tl.to_tensor(c2).to(kind, bitcast=True)
    c3 = tl.to_tensor(c3).to(kind, bitcast=True)
    return philox_impl(c0, c1, c2, c3, k0, k1, n_rounds)


@jit
def randint4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of uniform uint32 for a seed and a block of offsets.

    Shapes: four blocks of the shape of offset.
    Types:  seed is an integer; offset an integer of 32 or 64 bits; n_rounds is constexpr.
    Cost:   ten rounds of four 32-bit multiplications.
    Errors: CompileError[TYPE] for pointers; floats are truncated first.

    >>> a, b, c, d = tl.randint4x(7, tl.arange(0, 2))
    >>> a
    uint32[2]: [4099963437, 1747881627]
    """
    offset = tl.to_tensor(offset)
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@jit
def randint(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> tensor:
    """A block of uniform uint32 for a seed and a block of offsets.

    Shapes: the shape of offset.
    Types:  seed is an integer; offset an integer of 32 or 64 bits; n_rounds is constexpr.
    Cost:   ten rounds of four 32-bit multiplications; the form with 4x gives four blocks
            for as much.
    Errors: CompileError[TYPE] for pointers; floats are truncated first.

    >>> tl.randint(7, tl.arange(0, 2))
    uint32[2]: [4099963437, 1747881627]
    """
    a, _, _, _ = randint4x(seed, offset, n_rounds)
    return a


@jit
def uint_to_uniform_float(x) -> tensor:
    """Random bits as a float32 in [0, 1).

    Shapes: that of x.
    Types:  integers of 32 or 64 bits; the result is float32.
    Errors: CompileError[STATIC_ASSERT] for another width.

    >>> tl.uint_to_uniform_float(tl.arange(0, 4) * 500000000)
    float32[4]: [0, 0.2328, 0.4657, 0.6985]
    """
    if x.dtype.primitive_bitwidth == 32:
        x = x.to(tl.int32, bitcast=True)
        scale: tl.constexpr = 4.6566127342e-10
    else:
        tl.static_assert(x.dtype.primitive_bitwidth == 64, "random bits: 32 or 64")
        x = x.to(tl.int64, bitcast=True)
        scale: tl.constexpr = 1.0842020432385337e-19
    x = math.where(x < 0, -x - 1, x)
    return x * scale


@jit
def rand(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> tensor:
    """Uniform float32 in [0, 1) for a seed and a block of offsets.

    Shapes: the shape of offset.
    Types:  seed is an integer; offset an integer of 32 or 64 bits; n_rounds is constexpr.
    Cost:   ten rounds of four 32-bit multiplications; the form with 4x gives four blocks
            for as much.
    Errors: CompileError[TYPE] for pointers; floats are truncated first.

    >>> tl.rand(7, tl.arange(0, 4))
    float32[4]: [0.09081, 0.8139, 0.01215, 0.7804]
    """
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@jit
def rand4x(seed, offsets, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of uniform float32 in [0, 1).

    Shapes: four blocks of the shape of offsets.
    Types:  seed is an integer; offsets an integer of 32 or 64 bits; n_rounds is constexpr.
    Cost:   ten rounds of four 32-bit multiplications.
    Errors: CompileError[TYPE] for pointers; floats are truncated first.

    >>> a, b, c, d = tl.rand4x(7, tl.arange(0, 2))
    >>> d
    float32[2]: [0.1713, 0.08429]
    """
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    return (
        uint_to_uniform_float(a),
        uint_to_uniform_float(b),
        uint_to_uniform_float(c),
        uint_to_uniform_float(d),
    )


@jit
def pair_uniform_to_normal(u1, u2) -> tuple[tensor, tensor]:
    """Two independent normal numbers from two uniform ones (Box-Muller).

    Shapes: the operands broadcast; both results have their shape.
    Types:  float32.
    Errors: CompileError[TYPE] for pointers; integers become float32.

    >>> u = tl.full((2,), 0.5, tl.float32)
    >>> tl.pair_uniform_to_normal(u, u / 4)
    float32[2]: [0.8326, 0.8326]
    float32[2]: [0.8326, 0.8326]
    """
    u1 = math.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    r = math.sqrt(-2.0 * math.log(u1))
    return r * math.cos(angle), r * math.sin(angle)


@jit
def randn(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> tensor:
    """Normal float32 of mean 0 and deviation 1 for a seed and a block of offsets.

    Shapes: the shape of offset.
    Types:  seed is an integer; offset an integer of 32 or 64 bits; n_rounds is constexpr.
    Cost:   ten rounds of four 32-bit multiplications; the form with 4x gives four blocks
            for as much.
    Errors: CompileError[TYPE] for pointers; floats are truncated first.

    >>> tl.randn(7, tl.arange(0, 4))
    float32[4]: [-2.19, -0.5406, 2.953, -0.7042]
    """
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    n, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return n


@jit
def randn4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of normal float32 of mean 0 and deviation 1.

    Shapes: four blocks of the shape of offset.
    Types:  seed is an integer; offset an integer of 32 or 64 bits; n_rounds is constexpr.
    Cost:   ten rounds of four 32-bit multiplications.
    Errors: CompileError[TYPE] for pointers; floats are truncated first.

    >>> a, b, c, d = tl.randn4x(7, tl.arange(0, 2))
    >>> d
    float32[2]: [1.513, 0.7385]
    """
    a, b, c, d = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(a, b)
    n3, n4 = pair_uniform_to_normal(c, d)
    return n1, n2, n3, n4
