# Made by csrc/tools/stubs.py from csrc/frontend/builtins.def: make gen.
# ruff: noqa: E501
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from .types import Operand, PropagateNan, Shape
from .types import block_type as _block_type
from .types import dtype as _dtype
from .types import constexpr, tensor_descriptor_type

class tensor_descriptor:
    """What ``tl.make_tensor_descriptor`` gives, or a host's TensorDescriptor is."""

    shape: Sequence[tensor]
    strides: Sequence[tensor]
    dtype: _dtype
    block_shape: Sequence[int]
    block_type: _block_type
    type: tensor_descriptor_type
    def load(self, offsets: Sequence[Operand]) -> tensor: ...
    def store(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def gather(self, x_offsets: tensor, y_offset: Operand) -> tensor: ...
    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Operand) -> None: ...
    def atomic_add(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_min(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_max(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_and(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_or(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_xor(self, offsets: Sequence[Operand], value: tensor) -> None: ...

class tensor:
    """What a kernel computes with: a scalar, or a block of elements of one dtype."""

    @property
    def dtype(self) -> _dtype:
        """The type of an element; a pointer_type for pointers."""
    @property
    def type(self) -> _dtype:
        """The dtype, or for a block a block_type with shape."""
    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, constexpr; () for a scalar."""
    @property
    def numel(self) -> int:
        """How many elements, constexpr."""
    @property
    def T(self) -> tensor:
        """Rows and columns swapped; of two dims."""
    def __getitem__(self, key: Any) -> tensor:
        """``x[:, None]`` inserts a dim of 1."""
    def __bool__(self) -> bool:
        """In the condition of an ``if`` or ``while``: a scalar."""
    def __index__(self) -> int:
        """As a bound of ``range``: an integer scalar."""
    def __int__(self) -> int: ...
    def __len__(self) -> int:
        """The extent of the first dim, constexpr."""
    def __abs__(self) -> tensor: ...
    def __float__(self) -> float: ...
    def __add__(self, other: Operand) -> tensor: ...
    def __radd__(self, other: Operand) -> tensor: ...
    def __sub__(self, other: Operand) -> tensor: ...
    def __rsub__(self, other: Operand) -> tensor: ...
    def __mul__(self, other: Operand) -> tensor: ...
    def __rmul__(self, other: Operand) -> tensor: ...
    def __truediv__(self, other: Operand) -> tensor: ...
    def __rtruediv__(self, other: Operand) -> tensor: ...
    def __floordiv__(self, other: Operand) -> tensor: ...
    def __rfloordiv__(self, other: Operand) -> tensor: ...
    def __mod__(self, other: Operand) -> tensor: ...
    def __rmod__(self, other: Operand) -> tensor: ...
    def __lshift__(self, other: Operand) -> tensor: ...
    def __rlshift__(self, other: Operand) -> tensor: ...
    def __rshift__(self, other: Operand) -> tensor: ...
    def __rrshift__(self, other: Operand) -> tensor: ...
    def __and__(self, other: Operand) -> tensor: ...
    def __rand__(self, other: Operand) -> tensor: ...
    def __or__(self, other: Operand) -> tensor: ...
    def __ror__(self, other: Operand) -> tensor: ...
    def __xor__(self, other: Operand) -> tensor: ...
    def __rxor__(self, other: Operand) -> tensor: ...
    def __eq__(self, other: Operand) -> tensor: ...  # type: ignore[override]
    def __ne__(self, other: Operand) -> tensor: ...  # type: ignore[override]
    def __lt__(self, other: Operand) -> tensor: ...
    def __le__(self, other: Operand) -> tensor: ...
    def __gt__(self, other: Operand) -> tensor: ...
    def __ge__(self, other: Operand) -> tensor: ...
    def __neg__(self) -> tensor: ...
    def __invert__(self) -> tensor: ...
    __hash__: None  # type: ignore[assignment]
    __iter__: None
    def abs(self) -> tensor:
        """Absolute value.

        Shapes: the result has the shape of x.
        Types:  any float or integer, the result as x; unsigned integers are unchanged, and the
                most negative signed one too.
        Errors: CompileError[TYPE] for another type.
        """
    def advance(self, offsets: Sequence[Operand]) -> tensor:
        """The block pointer base, moved by offsets; also ``p.advance(offsets)``.

        Shapes: one integer scalar per dim.
        Types:  a block pointer as base; base itself stays where it is.
        Errors: CompileError[VALUE] for another number of offsets.
        """
    def argmax(self, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Index of the largest element along axis, of equal ones the first.

        Shapes: axis goes, or stays as 1 with keep_dims.
        Types:  any numbers; the result is int32.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def argmin(self, axis: int, tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Index of the smallest element along axis, of equal ones the first.

        Shapes: axis goes, or stays as 1 with keep_dims.
        Types:  any numbers; the result is int32.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def associative_scan(self, axis: int, combine_fn: Callable[..., Any], reverse: bool = False) -> Any:
        """Combine each element with all before it, with a @jit function of scalars.

        combine_fn(acc.., new..) returns as many values as input has blocks. It must be
        associative, and may use the numbers around it. reverse starts from the end.

        Shapes: that of input; a tuple of blocks of one shape gives a tuple.
        Types:  each result has the type of its block; combine_fn must return it.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def atomic_add(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Add val to memory in one step and return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  float16, bfloat16, float32, float64 and integers of 32 and 64 bits.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def atomic_and(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Bitwise and into memory; return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  integers of 32 and 64 bits, and the bits of floats as wide.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def atomic_cas(self, cmp: Operand, val: Operand, sem: str | None = None, scope: str | None = None) -> tensor:
        """Write val where memory equals cmp; return what was there.

        Shapes: cmp and val have the pointer's shape, or are scalars.
        Types:  16, 32 and 64 bits; cmp and val have the pointee's type: numbers are converted,
                tensors are not.
                sem and scope as in atomic_add.
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for other types; CompileError[VALUE] for another sem or
                scope.
        """
    def atomic_load(self, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Read memory that others may be writing, and what they wrote before.

        With "acquire" the program sees what was written ahead of the release that it read.

        Shapes: pointer and mask broadcast together; the result has their shape. Elements that
                are masked off are 0.
        Types:  numbers. sem is "acquire" (default) or "relaxed"; scope "gpu" (default), "cta"
                or "sys", across devices and processes.
        Cost:   one access per element, past the first cache of a GPU.
        Errors: CompileError[VALUE] for another sem or scope; CompileError[TYPE] for what is no
                pointer, or a mask of numbers.
        """
    def atomic_max(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Put the larger of memory and val there; return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  float32, float64 and integers of 32 and 64 bits.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def atomic_min(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Put the smaller of memory and val there; return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  float32, float64 and integers of 32 and 64 bits.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def atomic_or(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Bitwise or into memory; return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  integers of 32 and 64 bits, and the bits of floats as wide.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def atomic_poll(self, expected_value: Any, sem: constexpr = None, scope: constexpr = None, timeout_ns: Any = None) -> tensor:
        """Wait until memory holds expected_value, or timeout_ns nanoseconds are over.

        Each element is read at least once. The time is one for all of them, a GPU's global
        timer, elsewhere the host's clock; without it the wait has no end. A program on a CPU
        yields its core while it waits; on the emulator a wait that no program of the launch can
        end is a BarrierError, unless scope is "sys". What others wrote ahead of the release
        that was found is seen from then on; an element that timed out acquires nothing.

        Shapes: expected_value broadcasts to the pointers' shape, as does the result: was it
                found?
        Types:  pointers to integers of 16, 32 and 64 bits; the result is int1. sem is "acquire"
                (default) or "relaxed"; scope "gpu" (default), "cta" or "sys", across devices
                and processes.
        Errors: CompileError[STATIC_ASSERT] for other types, and for a timeout_ns that is a
                negative constant or no integer.
        """
    def atomic_store(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> None:
        """Write memory that others may be reading, behind all that was written before.

        With "release", who acquires what is written here sees what the program wrote ahead of
        it. Where mask is false nothing is written.

        Shapes: val and mask broadcast to the pointers' shape.
        Types:  numbers; val is converted to the pointee's type. sem is "release" (default) or
                "relaxed"; scope "gpu" (default), "cta" or "sys", across devices and processes.
        Cost:   one access per element.
        Errors: CompileError[VALUE] for another sem or scope; CompileError[TYPE] for what is no
                pointer, or a pointer to const.
        """
    def atomic_xchg(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Write val and return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  floats and integers of 32 and 64 bits.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def atomic_xor(self, val: Operand, mask: Operand | None = None, sem: str | None = None, scope: str | None = None) -> tensor:
        """Bitwise exclusive or into memory; return what was there.

        Shapes: pointer, val and mask broadcast together; the result has their shape.
        Types:  integers of 32 and 64 bits, and the bits of floats as wide.
                val is converted to it; the result, what was there before, has it too.
                sem is "acq_rel" (default), "acquire", "release" or "relaxed"; scope "gpu"
                (default), "cta" or "sys".
        Cost:   one atomic per element; those of equal addresses run one after another.
        Errors: CompileError[TYPE] for another type; CompileError[VALUE] for another sem or
                scope. Where mask is false nothing happens.
        """
    def broadcast_to(self, *shape: Shape) -> tensor:
        """Stretch dims of extent 1.

        Shapes: shape, as a tuple or as arguments, has as many dims as input and differs only
                where input has 1. A scalar stretches to any shape.
        Types:  that of input.
        Errors: CompileError[SHAPE] for another shape.
        """
    def cast(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
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
        """
    def cdiv(self, div: Operand) -> tensor:
        """``(x + (div - 1)) // div``: the quotient of positive integers, rounded up.

        Shapes: the operands broadcast together.
        Types:  integers, the result as they promote; two constants give a constant.
        Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
                broadcast.
        """
    def ceil(self) -> tensor:
        """Round up, to a float.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Errors: CompileError[TYPE] for another type.
        """
    def cos(self) -> tensor:
        """Cosine of radians.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp.
        Errors: CompileError[TYPE] for another type.
        """
    def cumprod(self, axis: int = 0, reverse: bool = False, dtype: _dtype | None = None) -> tensor:
        """Running product along axis; from the end with reverse.

        Shapes: that of input.
        Types:  integers below 32 bits become int32 or uint32; bfloat16 gives float32; dtype
                says another type to multiply in.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def cumsum(self, axis: int = 0, reverse: bool = False, dtype: _dtype | None = None) -> tensor:
        """Running sum along axis; from the end with reverse.

        Shapes: that of input.
        Types:  as sum, but bfloat16 gives float32; dtype converts before summing.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def erf(self) -> tensor:
        """Error function.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 3 ulp.
        Errors: CompileError[TYPE] for another type.
        """
    def exp(self) -> tensor:
        """e to the x.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp, on GPUs to 110; subnormal results are 0 there.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def exp2(self) -> tensor:
        """2 to the x.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp, on GPUs to 3; subnormal results are 0 on GPUs.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def expand_dims(self, axis: Shape) -> tensor:
        """Insert dims of extent 1; ``x[:, None]`` does the same.

        Shapes: axis is one constexpr or several, counted in the result, negative from the end.
        Types:  that of input.
        Errors: CompileError[VALUE] for an axis outside the result, or one named twice.
        """
    def flip(self, dim: Any = None) -> tensor:
        """Reverse the order of elements along dim, the last by default.

        Shapes: that of x.
        Types:  any.
        Cost:   a gather.
        Errors: CompileError[STATIC_ASSERT] for a dim outside the shape.
        """
    def floor(self) -> tensor:
        """Round down, to a float.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Errors: CompileError[TYPE] for another type.
        """
    def gather(self, index: tensor, axis: int) -> tensor:
        """Pick elements along axis: ``out[i, j] = src[index[i, j], j]`` for axis 0.

        Shapes: index has the rank of src and its extents except along axis; the result has
                the shape of index.
        Types:  integer index; the result has src's type.
        Cost:   a shuffle within a warp, or a pass through shared memory.
        Errors: CompileError[SHAPE] for other shapes; CompileError[TYPE] for another index;
                CompileError[VALUE] for an axis outside the shape. An element of index outside
                the dim gives an undefined value.
        """
    def histogram(self, num_bins: int, mask: tensor | None = None) -> tensor:
        """Counts of the values 0 .. num_bins - 1.

        Shapes: input has one dim; num_bins is constexpr, from 1 on; the result is
                [num_bins]; mask has the shape of input.
        Types:  integer input; int32 counts; int1 mask, where false nothing is counted.
        Cost:   atomics in shared memory on GPUs.
        Errors: CompileError[VALUE] for another shape or number of bins; CompileError[TYPE] for
                another type. Values outside the bins are undefined.
        """
    def item(self) -> tensor:
        """The element of a block of one, as a scalar.

        Shapes: input holds one element, in any number of dims; the result is a scalar.
        Types:  that of input.
        Errors: CompileError[VALUE] for more elements.
        """
    def log(self) -> tensor:
        """Natural logarithm; NaN below 0, -inf at 0.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def log2(self) -> tensor:
        """Logarithm to base 2; NaN below 0, -inf at 0.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def logical_and(self, other: Operand) -> tensor:
        """Are both true?

        Shapes: the operands broadcast together.
        Types:  int1, the result too; compare other types with ``!= 0``.
        Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
                broadcast.
        """
    def logical_or(self, other: Operand) -> tensor:
        """Is either true?

        Shapes: the operands broadcast together.
        Types:  int1, the result too; compare other types with ``!= 0``.
        Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
                broadcast.
        """
    @overload
    def max(self, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Largest element along axis, or of all.

        return_indices gives the pair of it and its index along axis: of equal ones the first,
        or any without return_indices_tie_break_left.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  types narrower than 32 bits give float32 or int32; the index is int32. NaN is
                skipped.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    @overload
    def max(self, axis: int, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tuple[tensor, tensor]:
        """Largest element along axis, or of all.

        return_indices gives the pair of it and its index along axis: of equal ones the first,
        or any without return_indices_tie_break_left.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  types narrower than 32 bits give float32 or int32; the index is int32. NaN is
                skipped.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    @overload
    def min(self, axis: int | None = None, return_indices: Literal[False] = False, return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tensor:
        """Smallest element along axis, or of all.

        return_indices gives the pair of it and its index along axis: of equal ones the first,
        or any without return_indices_tie_break_left.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  types narrower than 32 bits give float32 or int32; the index is int32. NaN is
                skipped.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    @overload
    def min(self, axis: int, return_indices: Literal[True], return_indices_tie_break_left: bool = True, keep_dims: bool = False) -> tuple[tensor, tensor]:
        """Smallest element along axis, or of all.

        return_indices gives the pair of it and its index along axis: of equal ones the first,
        or any without return_indices_tie_break_left.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  types narrower than 32 bits give float32 or int32; the index is int32. NaN is
                skipped.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def permute(self, *dims: Any) -> tensor:
        """Dim i of the result is dim dims[i] of input.

        Shapes: dims, as a tuple or as arguments, is a permutation of 0 .. rank - 1.
        Types:  that of input.
        Errors: CompileError[VALUE] for no permutation.
        """
    def ravel(self, can_reorder: bool = False) -> tensor:
        """Flatten to one dim, in row-major order.

        Shapes: [numel].
        Types:  that of x.
        Errors: CompileError[TYPE] where x is no tensor.
        """
    def reduce(self, axis: int | None, combine_fn: Callable[..., Any], keep_dims: bool = False) -> Any:
        """Combine along axis with a @jit function of scalars.

        combine_fn(acc.., new..) returns as many values as input has blocks. It must be
        associative and commutative, and may use numbers and pointers around it, not blocks.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
                A tuple of blocks of one shape gives a tuple.
        Types:  each result has the type of its block; combine_fn must return it.
        Cost:   shuffles within a warp, then a pass through shared memory between warps. One
                that loops, touches memory, prints or asserts goes through shared memory
                log2(n) times.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def reduce_or(self, axis: int, keep_dims: bool = False) -> tensor:
        """Bitwise or along axis.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  integers, the result as input.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def reshape(self, *shape: Shape, can_reorder: bool = False) -> tensor:
        """The same elements in row-major order, in another shape.

        Shapes: shape, as a tuple or as arguments, holds as many elements as input.
        Types:  that of input.
        Cost:   free, or a move through shared memory where layouts differ; can_reorder lets the
                compiler choose another order of elements.
        Errors: CompileError[VALUE] for a shape of another size.
        """
    def resize(self, shape: Shape, fill: Operand = 0) -> tensor:
        """input cut, or extended by fill, at the end of its dims.

        Beyond Triton.

        Shapes: shape has the rank of input; each side is constexpr.
        Types:  that of input, numbers; fill is a number or a scalar, converted to it.
        Cost:   free where the power of two at or above each side stays the same; else a gather,
                which on GPUs goes through shared memory.
        Errors: CompileError[SHAPE] for another rank; CompileError[TYPE] for pointers.
        """
    def rint(self) -> tensor:
        """Round to the nearest whole number, halves to even, to a float.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; as a method (``x.rint()``) any float.
        Cost:   one instruction.
        Errors: CompileError[TYPE] for another type.
        """
    def rsqrt(self) -> tensor:
        """``1 / sqrt(x)``, approximate for float32 on GPUs.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp; subnormal x is 0 on GPUs.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def sigmoid(self) -> tensor:
        """``1 / (1 + exp(-x))``.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 4 ulp, on GPUs to 110; subnormal results may be 0.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def sin(self) -> tensor:
        """Sine of radians.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 2 ulp.
        Errors: CompileError[TYPE] for another type.
        """
    def softmax(self, dim: Any = None, keep_dims: Any = None, ieee_rounding: Any = False) -> tensor:
        """``exp(x - max) / sum`` along dim: positive numbers that add up to 1.

        Shapes: that of x. dim is constexpr, the first by default, as in Triton. keep_dims is
                ignored, with a warning.
        Types:  float32 or float64; float16 and bfloat16 give float32.
        Cost:   a max, a sum, and an exp per element.
        Errors: CompileError[VALUE] for a dim outside the shape; CompileError[TYPE] for
                integers.
        """
    def sort(self, dim: constexpr = None, descending: constexpr = False) -> tensor:
        """Sort along the last dim; descending: largest first.

        Shapes: that of x.
        Types:  numbers, the type is kept; the order of NaN is undefined.
        Cost:   log2(n) * (log2(n) + 1) / 2 exchanges of the whole block.
        Errors: CompileError[STATIC_ASSERT] for another dim; CompileError[TYPE] for pointers.
        """
    def split(self) -> tuple[tensor, tensor]:
        """Inverse of join: the two halves of a last dim of 2.

        Shapes: [.., 2] gives two of [..]; [2] gives two scalars.
        Types:  that of a.
        Errors: CompileError[VALUE] for another last dim.
        """
    def sqrt(self) -> tensor:
        """Square root; approximate for float32 on GPUs: sqrt_rn is exact.

        Shapes: the result has the shape of x.
        Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
        Accuracy: float32 to 0.5 ulp, on GPUs to 1.
        Cost:   one or two instructions of the special function unit on GPUs (float32).
        Errors: CompileError[TYPE] for another type.
        """
    def sqrt_rn(self) -> tensor:
        """Square root, rounded to nearest.

        Shapes: the result has the shape of x.
        Types:  float32, the result too.
        Errors: CompileError[TYPE] for another type.
        """
    def squeeze(self, dim: constexpr) -> tensor:
        """Without a dimension of one element.

        Shapes: that of x, dim left out. dim is constexpr and counts from 0.
        Types:  as x.
        Errors: CompileTimeAssertionFailure where the dimension has more elements.
        """
    def store(self, value: Operand, mask: Operand | None = None, boundary_check: Sequence[int] = (), cache_modifier: str | None = '', eviction_policy: str | None = '') -> None:
        """Write memory through a pointer, a block of pointers, or a block pointer.

        Where mask is false nothing is written. The order of overlapping writes is undefined.

        Shapes: value and mask broadcast to the pointers' shape, which they may not enlarge.
        Types:  value is converted to the pointee's type; mask is int1.
        Cost:   as load's: neighbours are written together.
        Errors: CompileError[TYPE] for what is no pointer, or a pointer to const;
                CompileError[SHAPE] for a value larger than the pointers, CompileError[VALUE]
                where a block meets a scalar pointer.
        """
    def sum(self, axis: int | None = None, keep_dims: bool = False, dtype: _dtype | None = None) -> tensor:
        """Sum along axis, or of all.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  integers below 32 bits become int32 or uint32; floats keep theirs, float16 too.
                dtype converts before summing.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
    def to(self, dtype: _dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
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
        """
    def trans(self, *dims: Any) -> tensor:
        """Permute the dims; without dims, swap the last two.

        Shapes: dims, as a tuple or as arguments, is a permutation of 0 .. rank - 1.
        Types:  that of input.
        Cost:   free until the elements have to meet those of another layout.
        Errors: CompileError[VALUE] for no permutation, or fewer than two dims.
        """
    def unsqueeze(self, dim: constexpr) -> tensor:
        """With a further dimension of one element, as ``expand_dims`` gives it.

        Shapes: that of x with a 1 in place dim. dim is constexpr and counts from 0.
        Types:  as x.
        """
    def view(self, *shape: Shape) -> tensor:
        """As reshape; the order of elements is not promised.

        Shapes: shape, as a tuple or as arguments, holds as many elements as input.
        Types:  that of input.
        Errors: CompileError[VALUE] for a shape of another size.
        """
    def xor_sum(self, axis: int | None = None, keep_dims: bool = False) -> tensor:
        """Bitwise exclusive or along axis, or of all.

        Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
        Types:  integers, the result as input.
        Cost:   shuffles within a warp, then a pass through shared memory between warps.
        Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
                CompileError[TYPE] for another type.
        """
