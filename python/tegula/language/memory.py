"""Reading and writing memory. The bodies are in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .builtin import builtin, outside
from .types import tensor, tensor_descriptor

if TYPE_CHECKING:
    from .types import Operand


@builtin
def load(
    pointer: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    boundary_check: Sequence[int] = (),
    padding_option: str | None = "",
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
    volatile: bool = False,
) -> tensor:
    """Read memory through a pointer, a block of pointers, or a block pointer.

    Where mask is false nothing is read and the result is other, or 0 without one.
    Block pointers take boundary_check (dims to check) and padding_option ("zero", "nan")
    in place of mask and other.

    Shapes: pointer, mask and other broadcast together; the result has their shape.
    Types:  the result has the pointee's type; mask is int1; other is converted.
    Cost:   neighbours in memory are read together where the compiler can prove that they
            are: up to 16 bytes a thread, 128 a warp and line.
    Hints:  cache_modifier "", ".ca", ".cg", ".cs", ".cv"; eviction_policy "",
            "evict_first", "evict_last"; volatile reads again each time.
    Errors: CompileError[TYPE] for what is no pointer, or a mask of numbers;
            CompileError[SHAPE] where the shapes do not broadcast; CompileError[VALUE] for
            other without mask, a mask with a block pointer, or an unknown hint.

    >>> i = tl.arange(0, 4)
    >>> tl.load(x_ptr + i, mask=i < 3, other=-1.0)
    float32[4]: [0, 1, 2, -1]
    """
    return outside()


@builtin
def store(
    pointer: tensor,
    value: Operand,
    mask: Operand | None = None,
    boundary_check: Sequence[int] = (),
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
) -> None:
    """Write memory through a pointer, a block of pointers, or a block pointer.

    Where mask is false nothing is written. The order of overlapping writes is undefined.

    Shapes: value and mask broadcast to the pointers' shape, which they may not enlarge.
    Types:  value is converted to the pointee's type; mask is int1.
    Cost:   as load's: neighbours are written together.
    Errors: CompileError[TYPE] for what is no pointer, or a pointer to const;
            CompileError[SHAPE] for a value larger than the pointers, CompileError[VALUE]
            where a block meets a scalar pointer.

    >>> i = tl.arange(0, 4)
    >>> tl.store(x_ptr + i, i * 10, mask=i < 3)
    >>> tl.load(x_ptr + i)
    float32[4]: [0, 10, 20, 3]
    """
    return outside()


@builtin
def prefetch(
    pointer: tensor, mask: Operand | None = None, level: str | None = "L2"
) -> None:
    """Bring memory to a cache, for a load that comes later. No value is read.

    For loops that know the next addresses a turn ahead where no compiler does: rows of an
    embedding, pages of a table. What lies in a row is brought by ``num_stages``.
    An address that is nobody's does no harm; a mask spares the GPU the work.

    Shapes: pointer and mask broadcast together.
    Types:  pointers to any type; mask is int1. level is "L2" (default) or "L1".
    Cost:   one instruction for what a load would read at once, or, on CPUs, for a line.
    Errors: CompileError[TYPE] for what is no pointer, or a mask of numbers;
            CompileError[VALUE] for another level.

    >>> i = tl.arange(0, 4)
    >>> tl.prefetch(x_ptr + i, mask=i < 3)
    >>> tl.load(x_ptr + i)
    float32[4]: [0, 1, 2, 3]
    """
    return outside()


@builtin
def make_block_ptr(
    base: tensor,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    offsets: Sequence[Operand],
    block_shape: Sequence[int],
    order: Sequence[int],
) -> tensor:
    """A window of block_shape into a tensor in memory, at offsets.

    Shapes: base is a scalar pointer; shape, strides and offsets have one integer scalar per
            dim, strides counting elements; block_shape: constexpr sides from 1 on; order: a
            permutation of the dims, fastest first, a hint.
    Types:  loads give the pointee's type; stores want it.
    Errors: CompileError[VALUE] where the lengths differ, or for another base.

    >>> p = tl.make_block_ptr(x_ptr, (8, 8), (8, 1), (0, 2), (2, 2), (1, 0))
    >>> tl.load(p, boundary_check=(0, 1))
    float32[2, 2]: [[2, 3], [10, 11]]
    """
    return outside()


@builtin
def advance(base: tensor, offsets: Sequence[Operand]) -> tensor:
    """The block pointer base, moved by offsets; also ``p.advance(offsets)``.

    Shapes: one integer scalar per dim.
    Types:  a block pointer as base; base itself stays where it is.
    Errors: CompileError[VALUE] for another number of offsets.

    >>> p = tl.make_block_ptr(x_ptr, (64,), (1,), (0,), (4,), (0,))
    >>> p = tl.advance(p, (4,))
    >>> tl.load(p)
    float32[4]: [4, 5, 6, 7]
    """
    return outside()


@builtin
def make_tensor_descriptor(
    base: tensor,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> tensor_descriptor:
    """A tensor in memory that is read and written block by block.

    ``desc.load([i, j])`` and ``desc.store([i, j], value)`` move the block that begins
    there; all dims are checked: outside reads as 0 (or NaN) and is not written. Also
    ``gather``, ``scatter``, ``atomic_add`` and friends; ``shape``, ``strides``, ``dtype``,
    ``block_shape``.

    Shapes: base is a scalar pointer; 1 to 5 dims; the last stride is the constant 1;
            block_shape: constexpr sides whose last spans at least 16 bytes.
    Promise: base is a multiple of 16, strides but the last are multiples of 16 bytes. A
            GPU relies on it where they are computed or loaded (kernels' own arguments are
            looked at), and ``debug=True`` checks it.
    Types:  loads give the pointee's type; stores convert to it.
    Errors: CompileError[VALUE] where a rule above is broken.

    >>> d = tl.make_tensor_descriptor(x_ptr, [8, 8], [8, 1], [2, 4])
    >>> d.load([1, 6])
    float32[2, 4]: [[14, 15, 0, 0], [22, 23, 0, 0]]
    """
    return outside()


@builtin
def load_tensor_descriptor(
    desc: tensor_descriptor, offsets: Sequence[Operand]
) -> tensor:
    """``desc.load(offsets)``.

    Shapes: offsets: one int32 scalar per dim; the result has desc.block_shape.
    Types:  that of the tensor in memory.
    Errors: CompileError[VALUE] for another number of offsets.

    >>> d = tl.make_tensor_descriptor(x_ptr, [64], [1], [4])
    >>> tl.load_tensor_descriptor(d, [8])
    float32[4]: [8, 9, 10, 11]
    """
    return outside()


@builtin
def store_tensor_descriptor(
    desc: tensor_descriptor,
    offsets: Sequence[Operand],
    value: Operand,
) -> None:
    """``desc.store(offsets, value)``.

    Shapes: offsets: one int32 scalar per dim; value has desc.block_shape.
    Types:  value is converted to that of the tensor in memory.
    Errors: CompileError[VALUE] for another number of offsets; CompileError[SHAPE] for
            another shape.

    >>> d = tl.make_tensor_descriptor(x_ptr, [64], [1], [4])
    >>> tl.store_tensor_descriptor(d, [0], tl.zeros([4], tl.float32) + 5)
    >>> tl.load(x_ptr + tl.arange(0, 8))
    float32[8]: [5, 5, 5, 5, 4, 5, 6, 7]
    """
    return outside()


@builtin
def atomic_load(
    pointer: tensor,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Read memory that others may be writing, and what they wrote before.

    With "acquire" the program sees what was written ahead of the release that it read.

    Shapes: pointer and mask broadcast together; the result has their shape. Elements that
            are masked off are 0.
    Types:  numbers. sem is "acquire" (default) or "relaxed"; scope "gpu" (default), "cta"
            or "sys", across devices and processes.
    Cost:   one access per element, past the first cache of a GPU.
    Errors: CompileError[VALUE] for another sem or scope; CompileError[TYPE] for what is no
            pointer, or a mask of numbers.

    >>> tl.atomic_load(x_ptr + tl.arange(0, 4))
    float32[4]: [0, 1, 2, 3]
    """
    return outside()


@builtin
def atomic_store(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> None:
    """Write memory that others may be reading, behind all that was written before.

    With "release", who acquires what is written here sees what the program wrote ahead of
    it. Where mask is false nothing is written.

    Shapes: val and mask broadcast to the pointers' shape.
    Types:  numbers; val is converted to the pointee's type. sem is "release" (default) or
            "relaxed"; scope "gpu" (default), "cta" or "sys", across devices and processes.
    Cost:   one access per element.
    Errors: CompileError[VALUE] for another sem or scope; CompileError[TYPE] for what is no
            pointer, or a pointer to const.

    >>> tl.atomic_store(i_ptr + 7, 100)
    >>> tl.load(i_ptr + 7)
    int32: 100
    """
    return outside()


@builtin
def atomic_add(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Add val to memory in one step and return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  float16, bfloat16, float32, float64 and integers of 32 and 64 bits.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> i = tl.arange(0, 4)
    >>> tl.atomic_add(x_ptr + i, 10.0)
    float32[4]: [0, 1, 2, 3]
    >>> tl.load(x_ptr + i)
    float32[4]: [10, 11, 12, 13]
    """
    return outside()


@builtin
def atomic_max(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Put the larger of memory and val there; return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  float32, float64 and integers of 32 and 64 bits.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> i = tl.arange(0, 4)
    >>> old = tl.atomic_max(i_ptr + i, 2)
    >>> tl.load(i_ptr + i)
    int32[4]: [2, 2, 2, 3]
    """
    return outside()


@builtin
def atomic_min(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Put the smaller of memory and val there; return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  float32, float64 and integers of 32 and 64 bits.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> i = tl.arange(0, 4)
    >>> old = tl.atomic_min(i_ptr + i, 2)
    >>> tl.load(i_ptr + i)
    int32[4]: [0, 1, 2, 2]
    """
    return outside()


@builtin
def atomic_and(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise and into memory; return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  integers of 32 and 64 bits, and the bits of floats as wide.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> i = tl.arange(0, 4)
    >>> old = tl.atomic_and(i_ptr + i, 2)
    >>> tl.load(i_ptr + i)
    int32[4]: [0, 0, 2, 2]
    """
    return outside()


@builtin
def atomic_or(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise or into memory; return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  integers of 32 and 64 bits, and the bits of floats as wide.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> i = tl.arange(0, 4)
    >>> old = tl.atomic_or(i_ptr + i, 4)
    >>> tl.load(i_ptr + i)
    int32[4]: [4, 5, 6, 7]
    """
    return outside()


@builtin
def atomic_xor(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise exclusive or into memory; return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  integers of 32 and 64 bits, and the bits of floats as wide.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> i = tl.arange(0, 4)
    >>> old = tl.atomic_xor(i_ptr + i, 1)
    >>> tl.load(i_ptr + i)
    int32[4]: [1, 0, 3, 2]
    """
    return outside()


@builtin
def atomic_xchg(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Write val and return what was there.

    Shapes: pointer, val and mask broadcast together; the result has their shape.
    Types:  floats and integers of 32 and 64 bits.
            val is converted to it; the result, what was there before, has it too.
            sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
            (default), "cta" or "sys".
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
            scope. Where mask is false nothing happens.

    >>> tl.atomic_xchg(i_ptr + 7, 100)
    int32: 7
    >>> tl.load(i_ptr + 7)
    int32: 100
    """
    return outside()


@builtin
def atomic_cas(
    pointer: tensor,
    cmp: Operand,
    val: Operand,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Write val where memory equals cmp; return what was there.

    Shapes: cmp and val have the pointer's shape, or are scalars.
    Types:  16, 32 and 64 bits; cmp and val have the pointee's type: numbers are converted,
            tensors are not.
            sem and scope as in atomic_add.
    Cost:   one atomic per element; those of equal addresses run one after another.
    Errors: CompileError[TYPE] for other types; CompileError[VALUE] for another sem or
            scope.

    >>> tl.atomic_cas(i_ptr + 7, 7, 100)
    int32: 7
    >>> tl.load(i_ptr + 7)
    int32: 100
    """
    return outside()
