"""Creating blocks and changing their shape. The bodies are in C."""

from __future__ import annotations

from typing import Any

from .builtin import builtin, outside
from .types import dtype, tensor


@builtin
def program_id(axis: int, _semantic: Any = None) -> tensor:
    """Index of this program along a grid axis.

    Shape: a scalar int32. axis: constexpr 0, 1 or 2.
    Errors: CompileError[VALUE] for another axis.
    """
    return outside()


@builtin
def num_programs(axis: int, _semantic: Any = None) -> tensor:
    """Extent of the grid along an axis, as an int32 scalar. axis: constexpr 0, 1 or 2."""
    return outside()


@builtin
def arange(start: int, end: int, _semantic: Any = None) -> tensor:
    """``start, start + 1, .. end - 1`` as an int32 block of shape [end - start].

    Both ends are constexpr; 0 <= start < end, and end - start is a power of two.
    Errors: CompileError[VALUE] otherwise. For n elements take the next power of two and
    a mask: ``tl.arange(0, BLOCK) < n``.
    """
    return outside()


@builtin
def full(shape: Any, value: Any, dtype: dtype, _semantic: Any = None) -> tensor:
    """A block filled with value, converted to dtype.

    shape: a tuple of constexpr powers of two; ``()`` gives a scalar.
    value: a constant, or a scalar known at run time.
    """
    return outside()


@builtin
def zeros(shape: Any, dtype: dtype, _semantic: Any = None) -> tensor:
    """A block of zeros. shape: a tuple of constexpr powers of two."""
    return outside()


@builtin
def zeros_like(input: tensor, _semantic: Any = None) -> tensor:
    """Zeros of the shape and type of input."""
    return outside()


@builtin
def cast(
    input: Any,
    dtype: dtype,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
    _semantic: Any = None,
) -> tensor:
    """Convert the element type; also ``x.to(dtype)``.

    Floats to narrower floats round to nearest even, or towards zero with
    ``fp_downcast_rounding="rtz"``; floats to integers truncate; anything to int1 is
    ``!= 0``. bitcast keeps the bits of a type of equal width.
    Errors: CompileError[TYPE] between float8 and integers; CompileError[VALUE] for a
    bitcast between widths, or a rounding mode elsewhere.
    """
    return outside()


@builtin
def to_tensor(x: Any, _semantic: Any = None) -> tensor:
    """A number as a scalar: bool int1, int int32 or wider, float float32."""
    return outside()


@builtin
def broadcast(input: tensor, other: tensor, _semantic: Any = None) -> Any:
    """Both operands, stretched to their common shape."""
    return outside()


@builtin
def broadcast_to(input: tensor, *shape: Any, _semantic: Any = None) -> tensor:
    """Stretch dims of extent 1 to shape, which has the same number of dims."""
    return outside()


@builtin
def expand_dims(input: tensor, axis: Any, _semantic: Any = None) -> tensor:
    """Insert dims of extent 1 at axis (one or several, negative from the end)."""
    return outside()


@builtin
def reshape(
    input: tensor, *shape: Any, can_reorder: bool = False, _semantic: Any = None
) -> tensor:
    """The same elements in row-major order with another shape of equal size."""
    return outside()


@builtin
def view(input: tensor, *shape: Any, _semantic: Any = None) -> tensor:
    """As reshape; the order of elements is not promised."""
    return outside()


@builtin
def item(input: tensor, _semantic: Any = None) -> tensor:
    """The element of a block of one, as a scalar."""
    return outside()


@builtin
def ravel(x: tensor, can_reorder: bool = False, _semantic: Any = None) -> tensor:
    """Flatten to one dimension."""
    return outside()


@builtin
def trans(input: tensor, *dims: Any, _semantic: Any = None) -> tensor:
    """Permute the dims; without dims, swap the last two."""
    return outside()


@builtin
def permute(input: tensor, *dims: Any, _semantic: Any = None) -> tensor:
    """Dim i of the result is dim dims[i] of input."""
    return outside()


@builtin
def cat(
    input: tensor,
    other: tensor,
    can_reorder: bool = False,
    dim: int = 0,
    _semantic: Any = None,
) -> tensor:
    """Concatenate two blocks of one shape and type along dim, in order."""
    return outside()


@builtin
def join(a: tensor, b: tensor, _semantic: Any = None) -> tensor:
    """Two blocks as a new last dim of 2; two scalars give the shape [2]."""
    return outside()


@builtin
def split(a: tensor, _semantic: Any = None) -> Any:
    """Inverse of join: the two halves of a last dim of 2."""
    return outside()


@builtin
def interleave(a: tensor, b: tensor, _semantic: Any = None) -> tensor:
    """Alternate the elements of a and b along the last dim, which doubles."""
    return outside()


@builtin
def gather(src: tensor, index: tensor, axis: int, _semantic: Any = None) -> tensor:
    """Pick elements along axis: ``out[i, j] = src[index[i, j], j]`` for axis 0.

    Shapes: index has the rank of src and its extents except along axis; the result has
    the shape of index. Types: integer index. An index outside gives an undefined value.
    """
    return outside()


@builtin
def histogram(
    input: tensor, num_bins: int, mask: Any = None, _semantic: Any = None
) -> tensor:
    """Counts of the values 0 .. num_bins - 1, as int32 of shape [num_bins].

    input: integers, one dim. num_bins: a constexpr power of two. Values outside are
    undefined; where mask is false nothing is counted.
    """
    return outside()


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: dtype | None = None,
    _semantic: Any = None,
) -> tensor:
    """Matrix product ``input @ other + acc``.

    Shapes: [M, K] and [K, N] give [M, N]; batch dims may stand in front of all.
    Types:  int8 gives int32, bfloat16 and float32 give float32, float64 float64; float16
            and float8 give out_dtype (float32, or float16). acc has the result's type.
    input_precision: of float32 on tensor cores: "tf32" (default), "tf32x3", "ieee",
            "bf16x3", "bf16x6".
    Cost:   2*M*N*K flops, on tensor cores where the target has them.
    Errors: CompileError[SHAPE] when K differs; CompileError[TYPE] on mixed types.
    """
    return outside()
