"""Library functions written in the kernel language itself."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from tegula.constexprs import constexpr_function
from tegula.jit import jit

from . import core
from .core import constexpr
from .debug import _num_threads, _pause, _sorted, _warn
from .combine import (
    _argmax_combine as _argmax_combine,
    _argmax_combine_tie_break_fast as _argmax_combine_tie_break_fast,
    _argmax_combine_tie_break_left as _argmax_combine_tie_break_left,
    _argmin_combine as _argmin_combine,
    _argmin_combine_tie_break_fast as _argmin_combine_tie_break_fast,
    _argmin_combine_tie_break_left as _argmin_combine_tie_break_left,
    _elementwise_max as _elementwise_max,
    _elementwise_min as _elementwise_min,
    _or_combine as _or_combine,
    _prod_combine as _prod_combine,
    _sum_combine as _sum_combine,
    _xor_combine as _xor_combine,
)
from .math import *  # noqa: F403
from .math import exp, fdiv, where
from .reduction import *  # noqa: F403
from .reduction import max, min, sum, xor_sum

# Triton has these in this module, and libraries import them from it.
from .shape import interleave as interleave
from .shape import ravel as ravel
from .shape import zeros as zeros
from .shape import zeros_like as zeros_like
from .target_info import is_cuda

if TYPE_CHECKING:
    from .types import tensor


@constexpr_function
def _log2(i: int) -> int:
    """Logarithm of a power of two."""
    return i.bit_length() - 1


@constexpr_function
def _is_power_of_two(i: int) -> bool:
    return i > 0 and i & (i - 1) == 0


@constexpr_function
def _padded(i: int) -> int:
    """The power of two at or above i."""
    return 1 << (i - 1).bit_length()


@constexpr_function
def _last_of(dtype: Any, descending: bool) -> int:
    """The integer that sorts behind all others."""
    bits = dtype.primitive_bitwidth
    if dtype.is_int_signed():
        return -(1 << (bits - 1)) if descending else (1 << (bits - 1)) - 1
    return 0 if descending else (1 << bits) - 1


@jit
def squeeze(x, dim: constexpr) -> tensor:
    """Without a dimension of one element.

    Shapes: that of x, dim left out. dim is constexpr and counts from 0.
    Types:  as x.
    Errors: CompileTimeAssertionFailure where the dimension has more elements.

    >>> tl.squeeze(tl.arange(0, 4)[None, :], 0)
    int32[4]: [0, 1, 2, 3]
    """
    core.static_assert(x.shape[dim] == 1, "squeeze() drops a dimension of one element")
    return x.reshape(x.shape[:dim] + x.shape[dim + 1 :])


@jit
def unsqueeze(x, dim: constexpr) -> tensor:
    """With a further dimension of one element, as ``expand_dims`` gives it.

    Shapes: that of x with a 1 in place dim. dim is constexpr and counts from 0.
    Types:  as x.

    >>> tl.unsqueeze(tl.arange(0, 2), 1)
    int32[2, 1]: [[0], [1]]
    """
    return core.expand_dims(x, dim)


@jit
def expect_zero(x, mask) -> tensor:
    """x, of which the elements where mask is true are expected to be 0.

    Under ``debug=True`` an element that is not is an error, as a ``device_assert`` is; else
    nothing is done.

    Shapes: mask broadcasts with x; the result is x.
    Types:  numbers; mask a block of truth values or one of them.

    >>> x = tl.arange(0, 4)
    >>> tl.expect_zero(x, x < 1)
    int32[4]: [0, 1, 2, 3]
    """
    is_elsewhere = core.to_tensor(mask) == 0
    core.device_assert(
        (core.to_tensor(x) == 0) | is_elsewhere, "expect_zero: x is not 0"
    )
    return x


@constexpr_function
def _can_be_polled(dtype: Any) -> bool:
    return dtype.is_int() and dtype.primitive_bitwidth in (16, 32, 64)


@jit
def _is_all(found):
    return min(found.to(core.int32), None) != 0 if len(found.shape) > 0 else found


@jit
def _time():
    """Nanoseconds. Each thread's clock differs, and they have to leave a loop together: so
    this is the latest of them."""
    i = core.arange(0, _num_threads())
    text: constexpr = "mov.u64 $0, %globaltimer;"
    clocks = core.inline_asm_elementwise(text, "=l,r", [i], core.int64, False, 1)
    return max(clocks, 0)


@jit
def atomic_poll(
    pointer,
    expected_value,
    sem: constexpr = None,
    scope: constexpr = None,
    timeout_ns=None,
) -> tensor:
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

    >>> tl.atomic_poll(i_ptr + tl.arange(0, 4), tl.arange(0, 4))
    int1[4]: [1, 1, 1, 1]
    >>> tl.atomic_poll(i_ptr, 5, timeout_ns=1000)
    int1: 0
    """
    core.static_assert(
        pointer.dtype.is_ptr() and _can_be_polled(pointer.dtype.element_ty),
        "atomic_poll waits for integers of 16, 32 or 64 bits",
    )
    want = core.to_tensor(expected_value).to(pointer.dtype.element_ty)
    found = core.atomic_load(pointer, sem=sem, scope=scope) == want
    if timeout_ns is None:
        while not _is_all(found):
            _pause()
            seen = core.atomic_load(pointer, mask=found == 0, sem=sem, scope=scope)
            found = found | (seen == want)
    else:
        if isinstance(timeout_ns, constexpr):
            core.static_assert(
                timeout_ns >= 0, "atomic_poll: timeout_ns is not negative"
            )
        budget = core.to_tensor(timeout_ns)
        core.static_assert(
            budget.dtype.is_int() and len(budget.shape) == 0,
            "atomic_poll: timeout_ns is one integer",
        )
        start = _time()
        budget = budget.to(core.uint64)
        while (_is_all(found) == 0) & ((_time() - start).to(core.uint64) < budget):
            _pause()
            seen = core.atomic_load(pointer, mask=found == 0, sem=sem, scope=scope)
            found = found | (seen == want)
    return found


@jit
def softmax(x, dim=None, keep_dims=None, ieee_rounding=False) -> tensor:
    """``exp(x - max) / sum`` along dim: positive numbers that add up to 1.

    Shapes: that of x. dim is constexpr, the first by default, as in Triton. keep_dims is
            ignored, with a warning.
    Types:  float32 or float64; float16 and bfloat16 give float32.
    Cost:   a max, a sum, and an exp per element.
    Errors: CompileError[VALUE] for a dim outside the shape; CompileError[TYPE] for
            integers.

    >>> tl.softmax(tl.load(x_ptr + tl.arange(0, 4)), 0)
    float32[4]: [0.03206, 0.08714, 0.2369, 0.6439]
    """
    if keep_dims is not None:
        _warn("softmax keeps the shape: keep_dims changes nothing, leave it out")
    axis: constexpr = 0 if dim is None else dim
    z = x - max(x, axis, keep_dims=True)
    num = exp(z)
    den = sum(num, axis, keep_dims=True)
    return fdiv(num, den, ieee_rounding)


@jit
def swizzle2d(i, j, size_i, size_j, size_g) -> tuple[tensor, tensor]:
    """The place (i, j) of a size_i x size_j grid, walked in groups of size_g rows.

    Within a group the columns come first: programs that run together share columns.

    Shapes: the operands broadcast; both results have their shape.
    Types:  integers.
    Errors: CompileError[TYPE] for other types.

    >>> tl.swizzle2d(0, tl.arange(0, 4), 2, 4, 2)
    int32[4]: [0, 1, 0, 1]
    int32[4]: [0, 0, 1, 1]
    """
    ij = i * size_j + j
    size_gj = size_g * size_j
    group = ij // size_gj
    first = group * size_g
    rows = core.to_tensor(size_i - first)
    rows = where(rows < size_g, rows, size_g)
    ij = ij % size_gj
    return first + ij % rows, ij // rows


@jit
def _place_along(x, dim: constexpr):
    """Index of each element of x along dim, in the shape of x."""
    i = core.arange(0, x.shape[dim])
    for _ in core.static_range(dim):
        i = core.expand_dims(i, 0)
    for _ in core.static_range(len(x.shape) - 1 - dim):
        i = core.expand_dims(i, -1)
    return core.broadcast_to(i, x.shape)


@jit
def flip(x, dim=None) -> tensor:
    """Reverse the order of elements along dim, the last by default.

    Shapes: that of x.
    Types:  any.
    Cost:   a gather.
    Errors: CompileError[STATIC_ASSERT] for a dim outside the shape.

    >>> tl.flip(tl.arange(0, 4))
    int32[4]: [3, 2, 1, 0]
    """
    axis: constexpr = len(x.shape) - 1 if dim is None else dim
    at: constexpr = axis + len(x.shape) if axis < 0 else axis
    core.static_assert(0 <= at and at < len(x.shape), "flip: dim is outside the shape")
    return core.gather(x, x.shape[at] - 1 - _place_along(x, at), at)


# Sorting is a bitonic network over the last dim, on a CPU in one op and on a GPU in these
# functions. A step compares elements that are `stride` apart: in the shape [.., 2, stride]
# they differ in the middle dim alone, and x0 ^ (x0 ^ x1) is x1. Floats are sorted as
# integers of the same order: their minimum and maximum are one instruction each, and keep
# NaN and -0.0.


@jit
def _compare_exchange(x, stride: constexpr, run: constexpr, n: constexpr, descending):
    """Order integers `stride` apart: ascending in every other run, or all as descending."""
    outer: constexpr = x.numel // (2 * stride)
    y = core.reshape(x, [outer, 2, stride])
    other = y ^ xor_sum(y, 1, keep_dims=True)
    is_high = core.arange(0, 2)[None, :, None] == 1
    if run == n:
        down = core.full([1, 1, 1], descending, core.int1)
    else:
        down = ((core.arange(0, outer) * (2 * stride)) & run)[:, None, None] != 0
        down = down ^ core.full([1, 1, 1], descending, core.int1)
    # The lower place takes the smaller one when ascending. 64 bits have no minimum in one
    # instruction, and choosing costs two.
    down = is_high ^ down
    if x.dtype.primitive_bitwidth == 64:
        ordered = where((y < other) ^ down, y, other)
    else:
        ordered = where(down, core.maximum(y, other), core.minimum(y, other))
    return core.reshape(ordered, x.shape)


@jit
def _larger(a, b):
    return core.maximum(a, b).to(a.dtype)  # bfloat16 is compared as float32


@jit
def _smaller(a, b):
    return core.minimum(a, b).to(a.dtype)


@jit
def _best_last(x, part: constexpr, descending: constexpr):
    """The first `part` elements of each row of the sorted x, in their order.

    Runs of `part` are sorted, every other one the other way round. Of two neighbours the
    better half is in no order but one that rises and falls: it is merged, and there are
    half as many runs.
    """
    n: constexpr = x.shape[len(x.shape) - 1]
    for s in core.static_range(1, _log2(part) + 1):
        for t in core.static_range(s):
            x = _compare_exchange(x, 2 ** (s - 1 - t), 2**s, n, descending)
    for i in core.static_range(_log2(n // part)):
        left: constexpr = n // 2 ** (i + 1)
        pairs = core.reshape(x, [x.numel // (2 * part), 2, part])
        best = core.reduce(pairs, 1, _larger if descending else _smaller)
        x = core.reshape(best, x.shape[:-1] + [left])
        for t in core.static_range(_log2(part)):
            x = _compare_exchange(x, part // 2 ** (t + 1), part, left, descending)
    return x


@jit
def _as_key(x):
    """Integers of the same order: a float's bits, with a NaN last; an integer itself."""
    if x.dtype.is_floating():
        bits: constexpr = x.dtype.primitive_bitwidth
        raw = x.to(core.get_int_dtype(bits, True), bitcast=True)
        x = raw ^ ((raw >> (bits - 1)) & (2 ** (bits - 1) - 1))
    return x


@jit
def _of_key(key, dtype: constexpr):
    """What _as_key made the key of: it turns its own result back."""
    if dtype.is_floating():
        key = _as_key(key.to(dtype, bitcast=True)).to(dtype, bitcast=True)
    return key


@jit
def _sort_wide(x, part: constexpr, descending: constexpr):
    """The first `part` of x sorted along the last dim; all of it where part is None.

    A dim that is no power of two is widened to one. What is put behind the elements sorts
    last, so it stays there.
    """
    n: constexpr = x.shape[len(x.shape) - 1]
    best: constexpr = _padded(n) if part is None else part
    key = _as_key(x)
    if not _is_power_of_two(n):
        last: constexpr = _last_of(key.dtype, descending)
        key = core.resize(key, x.shape[:-1] + [_padded(n)], last)
    if is_cuda():
        key = _best_last(key, best, descending)
    else:
        key = _sorted(key, best, descending)
    return _of_key(key, x.dtype)


@constexpr_function
def _is_last(dim: Any, rank: int) -> bool:
    return dim is None or dim == rank - 1 or dim == -1


@jit
def sort(x, dim: constexpr = None, descending: constexpr = False) -> tensor:
    """Sort along the last dim; descending: largest first.

    Shapes: that of x.
    Types:  numbers, the type is kept; the order of NaN is undefined.
    Cost:   log2(n) * (log2(n) + 1) / 2 exchanges of the whole block.
    Errors: CompileError[STATIC_ASSERT] for another dim; CompileError[TYPE] for pointers.

    >>> tl.sort((tl.arange(0, 4) * 3) % 4, descending=True)
    int32[4]: [3, 2, 1, 0]
    """
    core.static_assert(_is_last(dim, len(x.shape)), "sort: only along the last dim")
    return core.resize(_sort_wide(x, None, descending != 0), x.shape)


@jit
def bitonic_merge(x, dim: constexpr = None, descending: constexpr = False) -> tensor:
    """Sort along the last dim what rises and then falls (or falls and then rises).

    Shapes: that of x.
    Types:  numbers, the type is kept.
    Cost:   log2(n) exchanges of the whole block.
    Errors: CompileError[STATIC_ASSERT] for another dim; CompileError[TYPE] for pointers.

    >>> i = tl.arange(0, 4)
    >>> tl.bitonic_merge(tl.where(i < 2, i * 5, 9 - i))
    int32[4]: [0, 5, 6, 7]
    """
    core.static_assert(_is_last(dim, len(x.shape)), "bitonic_merge: only the last dim")
    n: constexpr = x.shape[len(x.shape) - 1]
    if _is_power_of_two(n):
        key = _as_key(x)
        if is_cuda():
            for t in core.static_range(_log2(n)):
                key = _compare_exchange(key, n // 2 ** (t + 1), n, n, descending != 0)
        else:
            key = _sorted(key, n, descending != 0)
        x = _of_key(key, x.dtype)
    else:
        x = core.resize(_sort_wide(x, None, descending != 0), x.shape)
    return x


@constexpr_function
def _as_max(dtype):
    """What tl.max makes of a type, which Triton's topk is built of."""
    if dtype.primitive_bitwidth >= 32:
        return dtype
    return core.float32 if dtype.is_floating() else core.int32


@jit
def topk(
    x, k: constexpr, dim: constexpr = None, descending: constexpr = True
) -> tensor:
    """The k largest along the last dim, largest first; smallest first if not descending.

    Shapes: [.., n] gives [.., k]; k is constexpr, from 1 to n.
    Types:  numbers; what is below 32 bits gives float32 or int32, if k is less than n.
    Cost:   sorts of runs of k, then log2(k) + 1 exchanges of the whole block and less.
    Errors: CompileError[STATIC_ASSERT] for another k or dim.

    >>> tl.topk((tl.arange(0, 8) * 3) % 8, 2)
    int32[2]: [7, 6]
    """
    core.static_assert(_is_last(dim, len(x.shape)), "topk: only along the last dim")
    n: constexpr = x.shape[len(x.shape) - 1]
    core.static_assert(1 <= k and k <= n, "topk: k must be 1 to the length of the dim")
    y = _sort_wide(x, _padded(k), descending)
    y = core.resize(y, x.shape[:-1] + [k])
    return y if k == n else y.to(_as_max(x.dtype))


@jit
def sort_impl(
    x, k: constexpr = None, dim: constexpr = None, descending: constexpr = False
) -> tensor:
    """``sort`` without k, ``topk`` with it: Triton's libraries call it by this name.

    Shapes: as those of the two.
    Types:  as those of the two.

    >>> tl.standard.sort_impl((tl.arange(0, 4) * 3) % 4, k=2)
    int32[2]: [0, 1]
    """
    return sort(x, dim, descending) if k is None else topk(x, k, dim, descending)
