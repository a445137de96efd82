"""Reading and writing memory. The bodies are in C."""

from __future__ import annotations

from typing import Any

from .builtin import builtin, outside
from .types import tensor


@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
    _semantic: Any = None,
) -> tensor:
    """Read memory through a pointer, a block of pointers, or a block pointer.

    Shapes: pointer, mask and other broadcast together; the result has their shape.
    Types:  the result has the pointee's type; mask is int1; other is converted.
    Where mask is false nothing is read and the result is other, or 0 without one.
    Block pointers take boundary_check (dims to check) and padding_option ("zero", "nan")
    in place of mask and other.
    Hints:  cache_modifier "", ".ca", ".cg", ".cs", ".cv"; eviction_policy "",
            "evict_first", "evict_last".
    """
    return outside()


@builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
    _semantic: Any = None,
) -> None:
    """Write memory through a pointer, a block of pointers, or a block pointer.

    Shapes: value and mask broadcast to the pointers' shape, which they may not enlarge.
    Types:  value is converted to the pointee's type; mask is int1.
    Where mask is false nothing is written. The order of overlapping writes is undefined.
    """
    return outside()


@builtin
def make_block_ptr(
    base: Any,
    shape: Any,
    strides: Any,
    offsets: Any,
    block_shape: Any,
    order: Any,
    _semantic: Any = None,
) -> Any:
    """A window of block_shape into a tensor in memory, at offsets.

    base: a scalar pointer. shape, strides, offsets: integer scalars, one for each dim;
    strides count elements. block_shape: constexpr powers of two. order: a permutation of
    the dims, fastest first; a hint.
    """
    return outside()


@builtin
def advance(base: Any, offsets: Any, _semantic: Any = None) -> Any:
    """The block pointer base, moved by offsets: ``p = tl.advance(p, (0, BLOCK_K))``."""
    return outside()


@builtin
def make_tensor_descriptor(
    base: Any,
    shape: Any,
    strides: Any,
    block_shape: Any,
    padding_option: str = "zero",
    _semantic: Any = None,
) -> Any:
    """A tensor in memory that is read and written block by block.

    ``desc.load([i, j])`` and ``desc.store([i, j], value)`` move the block that begins
    there; all dims are checked: outside reads as 0 (or NaN) and is not written. Also
    ``gather``, ``scatter``, ``atomic_add`` and friends; ``shape``, ``strides``, ``dtype``,
    ``block_shape``.
    base: a scalar pointer; 1 to 5 dims; the last stride is the constant 1; block_shape:
    constexpr powers of two whose last spans at least 16 bytes.
    """
    return outside()


@builtin
def load_tensor_descriptor(desc: Any, offsets: Any, _semantic: Any = None) -> tensor:
    """``desc.load(offsets)``."""
    return outside()


@builtin
def store_tensor_descriptor(
    desc: Any, offsets: Any, value: Any, _semantic: Any = None
) -> None:
    """``desc.store(offsets, value)``."""
    return outside()


@builtin
def atomic_add(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Add val to memory in one step and return what was there.

    Types: float16, bfloat16, float32, float64 and integers of 32 and 64 bits.
    sem: "acq_rel" (default), "acquire", "release", "relaxed"; scope: "gpu" (default),
    "cta", "sys". Where mask is false nothing happens.
    """
    return outside()


@builtin
def atomic_max(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Maximum of memory and val, as atomic_add; float32, float64, 32- and 64-bit ints."""
    return outside()


@builtin
def atomic_min(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Minimum of memory and val, as atomic_max."""
    return outside()


@builtin
def atomic_and(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Bitwise and of memory and val, as atomic_add; 32- and 64-bit integers."""
    return outside()


@builtin
def atomic_or(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Bitwise or of memory and val, as atomic_and."""
    return outside()


@builtin
def atomic_xor(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Bitwise exclusive or of memory and val, as atomic_and."""
    return outside()


@builtin
def atomic_xchg(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Write val and return what was there; types of 32 and 64 bits."""
    return outside()


@builtin
def atomic_cas(
    pointer: Any,
    cmp: Any,
    val: Any,
    sem: str | None = None,
    scope: str | None = None,
    _semantic: Any = None,
) -> tensor:
    """Write val where memory equals cmp; return what was there.

    Types: 16, 32 and 64 bits. cmp and val have the pointee's type and the pointer's
    shape: they are neither converted nor broadcast.
    """
    return outside()
