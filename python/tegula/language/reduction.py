"""Reductions and scans. The bodies are in C.

axis: constexpr, negative from the end; None reduces all elements. keep_dims leaves the
reduced dims as 1. A reduction to no dims is a scalar.
Errors: CompileError[VALUE] for a scalar operand or an axis outside the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .builtin import builtin, outside
from .types import dtype, tensor


@builtin
def reduce(
    input: Any,
    axis: int | None,
    combine_fn: Callable[..., Any],
    keep_dims: bool = False,
    _semantic: Any = None,
) -> Any:
    """Combine along axis with a @jit function of scalars.

    input: a block, or a tuple of blocks of one shape; combine_fn(acc.., new..) returns as
    many values, of the element types. It must be associative and commutative.
    """
    return outside()


@builtin
def associative_scan(
    input: Any,
    axis: int,
    combine_fn: Callable[..., Any],
    reverse: bool = False,
    _semantic: Any = None,
) -> Any:
    """Inclusive scan along axis with an associative @jit function of scalars."""
    return outside()


@builtin
def sum(
    input: tensor,
    axis: int | None = None,
    keep_dims: bool = False,
    dtype: dtype | None = None,
    _semantic: Any = None,
) -> tensor:
    """Sum. Integers below 32 bits become int32 or uint32; floats keep their type."""
    return outside()


@builtin
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
    _semantic: Any = None,
) -> Any:
    """Largest element; with return_indices also its int32 index along axis.

    Types narrower than 32 bits give float32 or int32. NaN is skipped.
    """
    return outside()


@builtin
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
    _semantic: Any = None,
) -> Any:
    """Smallest element, as max."""
    return outside()


@builtin
def argmax(
    input: tensor,
    axis: int,
    tie_break_left: bool = True,
    keep_dims: bool = False,
    _semantic: Any = None,
) -> tensor:
    """int32 index of the largest element along axis, the first of equal ones."""
    return outside()


@builtin
def argmin(
    input: tensor,
    axis: int,
    tie_break_left: bool = True,
    keep_dims: bool = False,
    _semantic: Any = None,
) -> tensor:
    """int32 index of the smallest element along axis, the first of equal ones."""
    return outside()


@builtin
def xor_sum(
    input: tensor,
    axis: int | None = None,
    keep_dims: bool = False,
    _semantic: Any = None,
) -> tensor:
    """Exclusive or of integers."""
    return outside()


@builtin
def reduce_or(
    input: tensor, axis: int, keep_dims: bool = False, _semantic: Any = None
) -> tensor:
    """Bitwise or of integers."""
    return outside()


@builtin
def cumsum(
    input: tensor,
    axis: int = 0,
    reverse: bool = False,
    dtype: dtype | None = None,
    _semantic: Any = None,
) -> tensor:
    """Running sum along axis. bfloat16 gives float32; narrow integers widen as in sum."""
    return outside()


@builtin
def cumprod(
    input: tensor, axis: int = 0, reverse: bool = False, _semantic: Any = None
) -> tensor:
    """Running product along axis. bfloat16 gives float32."""
    return outside()
