"""Loops, hints, assertions and prints. The bodies are in C."""

from __future__ import annotations

from typing import Any, TypeVar

from .builtin import builtin, outside

# A hint gives what it got: a parameter annotated as int stays one to checkers.
_Hinted = TypeVar("_Hinted")


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
) -> Any:
    """What a ``for`` runs over, as Python's range, with hints for the compiler.

    num_stages: how many iterations of loads are in flight, whatever the loads feed;
    without it the launch's, for loads that feed a dot. loop_unroll_factor: copies of the
    body. flatten, warp_specialize and disallow_acc_multi_buffer are taken and change
    nothing: no loops are merged, warps all do the same, accumulators stay in registers. A
    hint never changes results, as long as what different arguments point to does not
    overlap where one is loaded and the other stored in the loop.

    Shapes: scalars as bounds and step; a negative step must be a constant.
    Types:  integers; the index has the type to which they promote.
    Errors: CompileError[TYPE] for other bounds; CompileError[LOOP_TYPE] where a variable
            leaves an iteration with another type than it entered.

    >>> total = 0
    >>> for i in tl.range(0, 4, num_stages=2):
    ...     total += i
    >>> total
    int32: 6
    """
    return outside()


@builtin
def static_range(arg1: int, arg2: Any = None, step: Any = None) -> Any:
    """A range that is unrolled: its ends are constexpr, and so is its index.

    Shapes: constexpr integers as bounds and step.
    Types:  the index is a constexpr.
    Cost:   the body is compiled once for each iteration.
    Errors: CompileError[VALUE] for bounds that are no constants.

    >>> total = 0
    >>> for i in tl.static_range(4):
    ...     total += i
    >>> total
    int32: 6
    """
    return outside()


@builtin
def condition(arg1: Any, disable_licm: bool = False) -> Any:
    """The condition of a ``while``, with a hint for the compiler.

    Shapes: a scalar.
    Types:  int1, or an integer that counts as != 0; disable_licm: nothing is hoisted.
    Errors: CompileError[CONDITION] for a block.

    >>> n = 0
    >>> while tl.condition(n < 5):
    ...     n += 2
    >>> n
    int32: 6
    """
    return outside()


@builtin
def multiple_of(input: _Hinted, values: Any) -> _Hinted:
    """input, with the promise that its first element along each dim, counted in runs of
    consecutive values, is a multiple of values.

    A promise, not a check: where it is broken, results are undefined.

    Shapes: values has one constexpr per dim of input.
    Types:  integers and pointers; the result is input.
    Errors: CompileError[VALUE] for another number of values.

    >>> i = tl.multiple_of(tl.arange(0, 4) * 8, 8)
    >>> i
    int32[4]: [0, 8, 16, 24]
    """
    return outside()


@builtin
def max_contiguous(input: _Hinted, values: Any) -> _Hinted:
    """input, with the promise that it consists of runs of that many consecutive values.

    A promise, not a check: where it is broken, results are undefined.

    Shapes: values has one constexpr per dim of input.
    Types:  integers and pointers; the result is input.
    Errors: CompileError[VALUE] for another number of values.

    >>> i = tl.max_contiguous(tl.arange(0, 4), 4)
    >>> i
    int32[4]: [0, 1, 2, 3]
    """
    return outside()


@builtin
def max_constancy(input: _Hinted, values: Any) -> _Hinted:
    """input, with the promise that it consists of runs of that many equal values.

    A promise, not a check: where it is broken, results are undefined.

    Shapes: values has one constexpr per dim of input.
    Types:  integers and pointers; the result is input.
    Errors: CompileError[VALUE] for another number of values.

    >>> i = tl.max_constancy(tl.arange(0, 4) // 2, 2)
    >>> i
    int32[4]: [0, 0, 1, 1]
    """
    return outside()


@builtin
def assume(cond: Any) -> None:
    """Promise that a condition is true: ``tl.assume(stride > 0)``.

    A promise, not a check: where it is broken, results are undefined.

    Shapes: a scalar.
    Types:  int1, or numbers that count as != 0.
    Errors: CompileError[CONDITION] for a block.

    >>> n = tl.load(i_ptr + 16)
    >>> tl.assume(n % 16 == 0)
    >>> n
    int32: 16
    """
    return outside()


@builtin
def debug_barrier() -> None:
    """All threads of the program arrive before any leaves.

    Reads and writes of the program's own blocks are ordered without it; it is for memory
    that threads share by address.

    Cost:   a barrier on GPUs, nothing on the CPU.

    >>> i = tl.arange(0, 4)
    >>> tl.store(x_ptr + i, 1.0)
    >>> tl.debug_barrier()
    >>> tl.load(x_ptr + 3 - i)
    float32[4]: [1, 1, 1, 1]
    """
    return outside()


@builtin
def static_assert(cond: Any, msg: str = "") -> None:
    """Refuse to compile when a constexpr condition is false.

    Shapes: a constant, so none.
    Types:  what is true or false in Python; msg is a constant string.
    Cost:   nothing when the kernel runs.
    Errors: CompileError[STATIC_ASSERT], with msg; CompileError[VALUE] for what is no
            constant.

    >>> x = tl.arange(0, 8)
    >>> tl.static_assert(x.shape[0] == 8, "eight of them")
    >>> tl.sum(x)
    int32: 28
    """
    return outside()


@builtin
def _warn(text: str) -> None:
    """A UserWarning at the line that called a function of the language."""
    return outside()


@builtin
def _sorted(x: Any, k: int, descending: bool) -> Any:
    """The first k integers of each row in order, on a CPU; sides are powers of two."""
    return outside()


@builtin
def _pause() -> None:
    """Let others run, between two looks at memory."""
    return outside()


@builtin
def _num_threads() -> Any:
    """``tl.extra.cuda.num_threads``, for the library."""
    return outside()


@builtin
def static_print(
    *values: Any,
    sep: str = " ",
    end: str = "\n",
    file: Any = None,
    flush: bool = False,
) -> None:
    """Print while compiling, to Python's stdout; a run-time value shows its type.

    Shapes: any.
    Types:  any; sep and end as in Python's print.
    Cost:   nothing when the kernel runs; a kernel from the cache prints nothing.

    >>> x = tl.arange(0, 8)
    >>> tl.static_print("x is", x)
    >>> tl.sum(x)
    int32: 28
    """
    return outside()


@builtin
def device_print(prefix: str, *args: Any, hex: bool = False) -> None:
    """Print the elements of args when the kernel runs, one line each, after prefix.

    The lines go where print() goes, to sys.stdout, by the end of the launch; a GPU's go to
    the process's standard output when the GPU is waited for.

    Shapes: any, for each of args.
    Types:  numbers and pointers; hex shows bits. prefix is a constant string.
    Cost:   a call per element; for debugging.
    Errors: CompileError[TYPE] for a prefix that is no string.

    >>> tl.device_print("the program", tl.program_id(0))
    >>> tl.program_id(0)
    int32: 0
    """
    return outside()


@builtin
def device_assert(cond: Any, msg: str = "", mask: Any = None) -> None:
    """Stop the kernel where cond is false; only in debug builds (``@jit(debug=True)``).

    Shapes: cond and mask broadcast; where mask is false nothing is checked.
    Types:  int1, or numbers that count as != 0; msg is a constant string.
    Cost:   nothing without debug.
    Errors: the launch raises where cond is false.

    >>> i = tl.arange(0, 4)
    >>> tl.device_assert(i < 4, "out of range")
    >>> i
    int32[4]: [0, 1, 2, 3]
    """
    return outside()
