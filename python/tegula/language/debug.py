"""Loops, hints, assertions and prints. The bodies are in C."""

from __future__ import annotations

from typing import Any

from .builtin import builtin, outside
from .types import tensor


@builtin
def range(
    arg1: Any,
    arg2: Any = None,
    step: Any = None,
    num_stages: int | None = None,
    loop_unroll_factor: int | None = None,
    disallow_acc_multi_buffer: bool = False,
    flatten: bool = False,
    warp_specialize: bool = False,
    disable_licm: bool = False,
    _semantic: Any = None,
) -> Any:
    """What a ``for`` runs over, as Python's range, with hints for the compiler.

    num_stages: how many iterations of loads are in flight; loop_unroll_factor: copies of
    the body; flatten: one loop of this nest; warp_specialize: loads and arithmetic on
    warps of their own. A hint never changes results.
    """
    return outside()


@builtin
def static_range(
    arg1: int, arg2: Any = None, step: Any = None, _semantic: Any = None
) -> Any:
    """A range that is unrolled: its ends are constexpr, and so is its index."""
    return outside()


@builtin
def condition(arg1: Any, disable_licm: bool = False, _semantic: Any = None) -> Any:
    """The condition of a ``while``, with a hint for the compiler."""
    return outside()


@builtin
def multiple_of(input: tensor, values: Any, _semantic: Any = None) -> tensor:
    """input, with the promise that its first element along each dim, counted in runs of
    consecutive values, is a multiple of values (one constexpr for each dim)."""
    return outside()


@builtin
def max_contiguous(input: tensor, values: Any, _semantic: Any = None) -> tensor:
    """input, with the promise that it consists of runs of that many consecutive values."""
    return outside()


@builtin
def max_constancy(input: tensor, values: Any, _semantic: Any = None) -> tensor:
    """input, with the promise that it consists of runs of that many equal values."""
    return outside()


@builtin
def assume(cond: Any, _semantic: Any = None) -> None:
    """Promise that a scalar condition is true: ``tl.assume(stride > 0)``."""
    return outside()


@builtin
def debug_barrier(_semantic: Any = None) -> None:
    """All threads of the program arrive before any leaves."""
    return outside()


@builtin
def static_assert(cond: Any, msg: str = "", _semantic: Any = None) -> None:
    """Refuse to compile when a constexpr condition is false.

    Errors: CompileError[STATIC_ASSERT], with msg.
    """
    return outside()


@builtin
def static_print(
    *values: Any,
    sep: str = " ",
    end: str = "\n",
    file: Any = None,
    flush: bool = False,
    _semantic: Any = None,
) -> None:
    """Print while compiling; a run-time value shows its type."""
    return outside()


@builtin
def device_print(
    prefix: str, *args: Any, hex: bool = False, _semantic: Any = None
) -> None:
    """Print the elements of args when the kernel runs, one line each, after prefix."""
    return outside()


@builtin
def device_assert(
    cond: Any, msg: str = "", mask: Any = None, _semantic: Any = None
) -> None:
    """Stop the kernel where cond is false; only in debug builds (``@jit(debug=True)``)."""
    return outside()
