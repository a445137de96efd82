"""Reductions and scans. The bodies are in C.

axis: constexpr, negative from the end; None reduces all elements. keep_dims leaves the
reduced dims as 1. A reduction to no dims is a scalar.
Errors: CompileError[VALUE] for a scalar operand or an axis outside the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from .builtin import builtin, outside
from .types import dtype, tensor


@builtin
def reduce(
    input: Any,
    axis: int | None,
    combine_fn: Callable[..., Any],
    keep_dims: bool = False,
) -> Any:
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

    >>> @tegula.jit
    ... def longer(a, b):
    ...     return tl.maximum(a, b)
    >>> tl.reduce(tl.arange(0, 8), 0, longer)
    int32: 7
    """
    return outside()


@builtin
def associative_scan(
    input: Any,
    axis: int,
    combine_fn: Callable[..., Any],
    reverse: bool = False,
) -> Any:
    """Combine each element with all before it, with a @jit function of scalars.

    combine_fn(acc.., new..) returns as many values as input has blocks. It must be
    associative, and may use the numbers around it. reverse starts from the end.

    Shapes: that of input; a tuple of blocks of one shape gives a tuple.
    Types:  each result has the type of its block; combine_fn must return it.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> @tegula.jit
    ... def plus(a, b):
    ...     return a + b
    >>> tl.associative_scan(tl.arange(0, 4), 0, plus)
    int32[4]: [0, 1, 3, 6]
    """
    return outside()


@builtin
def sum(
    input: tensor,
    axis: int | None = None,
    keep_dims: bool = False,
    dtype: dtype | None = None,
) -> tensor:
    """Sum along axis, or of all.

    Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
    Types:  integers below 32 bits become int32 or uint32; floats keep theirs, float16 too.
            dtype converts before summing.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.sum(x, axis=1)
    int32[2]: [6, 22]
    >>> tl.sum(x)
    int32: 28
    """
    return outside()


@overload
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: Literal[False] = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tensor: ...
@overload
def max(
    input: tensor,
    axis: int,
    return_indices: Literal[True],
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tuple[tensor, tensor]: ...
@builtin
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """Largest element along axis, or of all.

    return_indices gives the pair of it and its index along axis: of equal ones the first,
    or any without return_indices_tie_break_left.

    Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
    Types:  types narrower than 32 bits give float32 or int32; the index is int32. NaN is
            skipped.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.max(x, axis=0)
    int32[4]: [4, 5, 6, 7]
    >>> tl.max(x, axis=1, return_indices=True)
    int32[2]: [3, 7]
    int32[2]: [3, 3]
    """
    return outside()


@overload
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: Literal[False] = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tensor: ...
@overload
def min(
    input: tensor,
    axis: int,
    return_indices: Literal[True],
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tuple[tensor, tensor]: ...
@builtin
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """Smallest element along axis, or of all.

    return_indices gives the pair of it and its index along axis: of equal ones the first,
    or any without return_indices_tie_break_left.

    Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
    Types:  types narrower than 32 bits give float32 or int32; the index is int32. NaN is
            skipped.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.min(x, axis=0)
    int32[4]: [0, 1, 2, 3]
    """
    return outside()


@builtin
def argmax(
    input: tensor,
    axis: int,
    tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tensor:
    """Index of the largest element along axis, of equal ones the first.

    Shapes: axis goes, or stays as 1 with keep_dims.
    Types:  any numbers; the result is int32.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.argmax(x, axis=1)
    int32[2]: [3, 3]
    """
    return outside()


@builtin
def argmin(
    input: tensor,
    axis: int,
    tie_break_left: bool = True,
    keep_dims: bool = False,
) -> tensor:
    """Index of the smallest element along axis, of equal ones the first.

    Shapes: axis goes, or stays as 1 with keep_dims.
    Types:  any numbers; the result is int32.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.argmin(x, axis=1)
    int32[2]: [0, 0]
    """
    return outside()


@builtin
def xor_sum(
    input: tensor,
    axis: int | None = None,
    keep_dims: bool = False,
) -> tensor:
    """Bitwise exclusive or along axis, or of all.

    Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
    Types:  integers, the result as input.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.xor_sum(x, axis=1)
    int32[2]: [0, 0]
    """
    return outside()


@builtin
def reduce_or(input: tensor, axis: int, keep_dims: bool = False) -> tensor:
    """Bitwise or along axis.

    Shapes: axis goes, or stays as 1 with keep_dims; None takes all, and gives a scalar.
    Types:  integers, the result as input.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.reduce_or(x, axis=1)
    int32[2]: [3, 7]
    """
    return outside()


@builtin
def cumsum(
    input: tensor,
    axis: int = 0,
    reverse: bool = False,
    dtype: dtype | None = None,
) -> tensor:
    """Running sum along axis; from the end with reverse.

    Shapes: that of input.
    Types:  as sum, but bfloat16 gives float32; dtype converts before summing.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.cumsum(x, axis=1)
    int32[2, 4]: [[0, 1, 3, 6], [4, 9, 15, 22]]
    """
    return outside()


@builtin
def cumprod(
    input: tensor,
    axis: int = 0,
    reverse: bool = False,
    dtype: dtype | None = None,
) -> tensor:
    """Running product along axis; from the end with reverse.

    Shapes: that of input.
    Types:  integers below 32 bits become int32 or uint32; bfloat16 gives float32; dtype
            says another type to multiply in.
    Cost:   shuffles within a warp, then a pass through shared memory between warps.
    Errors: CompileError[VALUE] for a scalar, or an axis outside the shape;
            CompileError[TYPE] for another type.

    >>> x = tl.reshape(tl.arange(0, 8), (2, 4))
    >>> tl.cumprod(x + 1, axis=1)
    int32[2, 4]: [[1, 2, 6, 24], [5, 30, 210, 1680]]
    """
    return outside()
