"""Creating blocks and changing their shape. The bodies are in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .builtin import builtin, outside
from .types import dtype, tensor

if TYPE_CHECKING:
    from .types import Operand, Shape


@builtin
def program_id(axis: int) -> tensor:
    """Index of this program along a grid axis.

    Shapes: a scalar. axis: constexpr 0, 1 or 2.
    Types:  int32.
    Errors: CompileError[VALUE] for another axis.

    >>> tl.program_id(0)
    int32: 0
    """
    return outside()


@builtin
def num_programs(axis: int) -> tensor:
    """Extent of the grid along an axis.

    Shapes: a scalar. axis: constexpr 0, 1 or 2.
    Types:  int32.
    Errors: CompileError[VALUE] for another axis.

    >>> tl.num_programs(0)
    int32: 1
    """
    return outside()


@builtin
def arange(start: int, end: int) -> tensor:
    """``start, start + 1, .. end - 1``.

    Shapes: [end - start]. Both ends are constexpr; 0 <= start < end. Beyond Triton, any
            length will do: the compiler pads it to a power of two, masks what it added, and
            says in ``compiled.report`` what that wastes.
    Types:  int32.
    Cost:   nothing: each thread knows its own elements.
    Errors: CompileError[VALUE] for other ends, and for more than 1048576 elements.

    >>> tl.arange(0, 4)
    int32[4]: [0, 1, 2, 3]
    >>> tl.arange(0, 3) * 10
    int32[3]: [0, 10, 20]
    """
    return outside()


@builtin
def full(shape: Shape, value: Operand, dtype: dtype) -> tensor:
    """A block filled with value.

    Shapes: shape, a tuple of constexpr sides from 1 on; ``()`` gives a scalar. value is a
            number or a scalar known at run time.
    Types:  dtype, to which value is converted.
    Errors: CompileError[VALUE] for another shape, or a block as value; CompileError[TYPE]
            for a literal with a fraction and a dtype without.

    >>> tl.full((2, 2), 1.5, tl.float16)
    float16[2, 2]: [[1.5, 1.5], [1.5, 1.5]]
    """
    return outside()


@builtin
def zeros(shape: Shape, dtype: dtype) -> tensor:
    """A block of zeros.

    Shapes: shape, a tuple of constexpr sides from 1 on; ``()`` gives a scalar.
    Types:  dtype.
    Errors: CompileError[VALUE] for another shape.

    >>> tl.zeros((4,), tl.float32)
    float32[4]: [0, 0, 0, 0]
    """
    return outside()


@builtin
def zeros_like(input: tensor) -> tensor:
    """Zeros of the shape and type of input.

    Shapes: that of input.
    Types:  any but pointers; the result has input's.
    Errors: CompileError[TYPE] where input is no tensor.

    >>> tl.zeros_like(tl.arange(0, 4))
    int32[4]: [0, 0, 0, 0]
    """
    return outside()


@builtin
def cast(
    input: Operand,
    dtype: dtype,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
) -> tensor:
    """Convert the element type; also ``x.to(dtype)``.

    Floats to narrower floats round to nearest even, or towards zero with
    ``fp_downcast_rounding="rtz"``; floats to integers truncate; anything to int1 is
    ``!= 0``. bitcast keeps the bits of a type of equal width.

    What an integer type does not hold becomes the nearest that it does, and NaN 0, on
    every target. Bytes are the low half of what 16 bits hold: 300.0 is 44 as int8.

    Shapes: that of input.
    Types:  any to any, but not between float8 and integers (go through float32).
    Errors: CompileError[TYPE] between float8 and integers; CompileError[VALUE] for a
            bitcast between widths, or a rounding mode where nothing is rounded.

    >>> tl.cast(tl.full((2,), 2.75, tl.float32), tl.int32)
    int32[2]: [2, 2]
    >>> tl.full((2,), 1.0, tl.float32).to(tl.int32, bitcast=True)
    int32[2]: [1065353216, 1065353216]
    """
    return outside()


@builtin
def to_tensor(x: Operand) -> tensor:
    """A number as a scalar that takes part in promotion.

    Shapes: a scalar; a tensor stays as it is.
    Types:  bool gives int1, int int32 or as wide as it needs, float float32 (float64 where
            float32 overflows).
    Errors: CompileError[TYPE] for what is no number.

    >>> tl.to_tensor(3)
    int32: 3
    >>> tl.to_tensor(0.5)
    float32: 0.5
    """
    return outside()


@builtin
def broadcast(input: tensor, other: tensor) -> tuple[tensor, tensor]:
    """Both operands, stretched to their common shape.

    Shapes: as in NumPy: dims of 1 stretch, and missing ones stand in front.
    Types:  each keeps its own.
    Errors: CompileError[SHAPE] where two dims differ and neither is 1.

    >>> tl.broadcast(tl.arange(0, 2)[:, None], tl.arange(0, 2)[None, :])
    int32[2, 2]: [[0, 0], [1, 1]]
    int32[2, 2]: [[0, 1], [0, 1]]
    """
    return outside()


@builtin
def broadcast_to(input: tensor, *shape: Shape) -> tensor:
    """Stretch dims of extent 1.

    Shapes: shape, as a tuple or as arguments, has as many dims as input and differs only
            where input has 1. A scalar stretches to any shape.
    Types:  that of input.
    Errors: CompileError[SHAPE] for another shape.

    >>> tl.broadcast_to(tl.arange(0, 2)[:, None], (2, 4))
    int32[2, 4]: [[0, 0, 0, 0], [1, 1, 1, 1]]
    """
    return outside()


@builtin
def expand_dims(input: tensor, axis: Shape) -> tensor:
    """Insert dims of extent 1; ``x[:, None]`` does the same.

    Shapes: axis is one constexpr or several, counted in the result, negative from the end.
    Types:  that of input.
    Errors: CompileError[VALUE] for an axis outside the result, or one named twice.

    >>> tl.expand_dims(tl.arange(0, 4), 0)
    int32[1, 4]: [[0, 1, 2, 3]]
    """
    return outside()


@builtin
def reshape(input: tensor, *shape: Shape, can_reorder: bool = False) -> tensor:
    """The same elements in row-major order, in another shape.

    Shapes: shape, as a tuple or as arguments, holds as many elements as input.
    Types:  that of input.
    Cost:   free, or a move through shared memory where layouts differ; can_reorder lets the
            compiler choose another order of elements.
    Errors: CompileError[VALUE] for a shape of another size.

    >>> tl.reshape(tl.arange(0, 4), (2, 2))
    int32[2, 2]: [[0, 1], [2, 3]]
    """
    return outside()


@builtin
def view(input: tensor, *shape: Shape) -> tensor:
    """As reshape; the order of elements is not promised.

    Shapes: shape, as a tuple or as arguments, holds as many elements as input.
    Types:  that of input.
    Errors: CompileError[VALUE] for a shape of another size.

    >>> tl.view(tl.full((4,), 7, tl.int32), (2, 2))
    int32[2, 2]: [[7, 7], [7, 7]]
    """
    return outside()


@builtin
def resize(input: tensor, shape: Shape, fill: Operand = 0) -> tensor:
    """input cut, or extended by fill, at the end of its dims.

    Beyond Triton.

    Shapes: shape has the rank of input; each side is constexpr.
    Types:  that of input, numbers; fill is a number or a scalar, converted to it.
    Cost:   free where the power of two at or above each side stays the same; else a gather,
            which on GPUs goes through shared memory.
    Errors: CompileError[SHAPE] for another rank; CompileError[TYPE] for pointers.

    >>> tl.resize(tl.arange(0, 4), (3,))
    int32[3]: [0, 1, 2]
    >>> tl.resize(tl.arange(0, 3), (6,), fill=-1)
    int32[6]: [0, 1, 2, -1, -1, -1]
    """
    return outside()


@builtin
def item(input: tensor) -> tensor:
    """The element of a block of one, as a scalar.

    Shapes: input holds one element, in any number of dims; the result is a scalar.
    Types:  that of input.
    Errors: CompileError[VALUE] for more elements.

    >>> tl.full((1, 1), 7, tl.int32).item()
    int32: 7
    """
    return outside()


@builtin
def ravel(x: tensor, can_reorder: bool = False) -> tensor:
    """Flatten to one dim, in row-major order.

    Shapes: [numel].
    Types:  that of x.
    Errors: CompileError[TYPE] where x is no tensor.

    >>> tl.ravel(tl.full((2, 2), 7, tl.int32))
    int32[4]: [7, 7, 7, 7]
    """
    return outside()


@builtin
def trans(input: tensor, *dims: Any) -> tensor:
    """Permute the dims; without dims, swap the last two.

    Shapes: dims, as a tuple or as arguments, is a permutation of 0 .. rank - 1.
    Types:  that of input.
    Cost:   free until the elements have to meet those of another layout.
    Errors: CompileError[VALUE] for no permutation, or fewer than two dims.

    >>> tl.trans(tl.reshape(tl.arange(0, 4), (2, 2)))
    int32[2, 2]: [[0, 2], [1, 3]]
    """
    return outside()


@builtin
def permute(input: tensor, *dims: Any) -> tensor:
    """Dim i of the result is dim dims[i] of input.

    Shapes: dims, as a tuple or as arguments, is a permutation of 0 .. rank - 1.
    Types:  that of input.
    Errors: CompileError[VALUE] for no permutation.

    >>> tl.permute(tl.reshape(tl.arange(0, 4), (2, 2)), (1, 0))
    int32[2, 2]: [[0, 2], [1, 3]]
    """
    return outside()


@builtin
def cat(
    input: tensor,
    other: tensor,
    can_reorder: bool = False,
    dim: int = 0,
) -> tensor:
    """Concatenate two blocks along dim, in order.

    Shapes: both have one shape, but for the length of dim; the result has both lengths.
    Types:  both have one type, the result's.
    Errors: CompileError[TYPE] or CompileError[SHAPE] where types or shapes differ.
    Cost:   of different lengths: two gathers, through shared memory on GPUs.

    >>> tl.cat(tl.arange(0, 2), tl.arange(4, 6))
    int32[4]: [0, 1, 4, 5]
    >>> tl.cat(tl.arange(0, 2), tl.arange(4, 7))
    int32[5]: [0, 1, 4, 5, 6]
    """
    return outside()


@builtin
def join(a: tensor, b: tensor) -> tensor:
    """Two blocks, side by side in a new last dim of 2.

    Shapes: both broadcast to [..]; the result is [.., 2]; two scalars give [2].
    Types:  both have one type, the result's.
    Errors: CompileError[SHAPE] or CompileError[TYPE] where they do not agree.

    >>> tl.join(tl.arange(0, 2), tl.arange(4, 6))
    int32[2, 2]: [[0, 4], [1, 5]]
    """
    return outside()


@builtin
def split(a: tensor) -> tuple[tensor, tensor]:
    """Inverse of join: the two halves of a last dim of 2.

    Shapes: [.., 2] gives two of [..]; [2] gives two scalars.
    Types:  that of a.
    Errors: CompileError[VALUE] for another last dim.

    >>> tl.split(tl.reshape(tl.arange(0, 4), (2, 2)))
    int32[2]: [0, 2]
    int32[2]: [1, 3]
    """
    return outside()


@builtin
def interleave(a: tensor, b: tensor) -> tensor:
    """Alternate the elements of a and b along the last dim.

    Shapes: both broadcast; the last dim doubles; two scalars give [2].
    Types:  both have one type, the result's.
    Errors: CompileError[SHAPE] or CompileError[TYPE] where they do not agree.

    >>> tl.interleave(tl.arange(0, 2), tl.arange(4, 6))
    int32[4]: [0, 4, 1, 5]
    """
    return outside()


@builtin
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """Pick elements along axis: ``out[i, j] = src[index[i, j], j]`` for axis 0.

    Shapes: index has the rank of src and its extents except along axis; the result has
            the shape of index.
    Types:  integer index; the result has src's type.
    Cost:   a shuffle within a warp, or a pass through shared memory.
    Errors: CompileError[SHAPE] for other shapes; CompileError[TYPE] for another index;
            CompileError[VALUE] for an axis outside the shape. An element of index outside
            the dim gives an undefined value.

    >>> tl.gather(tl.arange(8, 12), 3 - tl.arange(0, 4), 0)
    int32[4]: [11, 10, 9, 8]
    """
    return outside()


@builtin
def histogram(input: tensor, num_bins: int, mask: tensor | None = None) -> tensor:
    """Counts of the values 0 .. num_bins - 1.

    Shapes: input has one dim; num_bins is constexpr, from 1 on; the result is
            [num_bins]; mask has the shape of input.
    Types:  integer input; int32 counts; int1 mask, where false nothing is counted.
    Cost:   atomics in shared memory on GPUs.
    Errors: CompileError[VALUE] for another shape or number of bins; CompileError[TYPE] for
            another type. Values outside the bins are undefined.

    >>> tl.histogram(tl.arange(0, 8) // 3, 4)
    int32[4]: [3, 3, 2, 0]
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
) -> tensor:
    """Matrix product ``input @ other + acc``.

    Shapes: [M, K] and [K, N] give [M, N]; batch dims may stand in front of all.
    Types:  int8 gives int32, bfloat16 and float32 give float32, float64 float64; float16
            and float8 give out_dtype (float32, or float16). acc has the result's type.
            input_precision says how tensor cores multiply float32: "tf32" (default),
            "tf32x3", "ieee", "bf16x3", "bf16x6".
            max_num_imprecise_acc: where tensor cores sum float8 in few bits (sm_89,
            sm_90, sm_120), so many products along K at a time; elsewhere sums are in
            float32. On sm_90 `acc += tl.dot(a, b)` is summed in float32, too.
            The option max_num_imprecise_acc_default is for dots that do not say it.
    Cost:   2*M*N*K flops, on tensor cores where the target has them.
    Errors: CompileError[SHAPE] when K differs; CompileError[TYPE] on mixed types;
            CompileError[VALUE] for vectors.

    >>> a = tl.full((16, 16), 2.0, tl.float16)
    >>> c = tl.dot(a, a)
    >>> tl.max(c)
    float32: 64
    """
    return outside()
