"""The k largest of each row, with their places; of equal ones the first."""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays

MAX_ROW = 1 << 14
# A CPU has a row in its cache: for so few, a pass for each of them costs less than sorting.
MAX_PASSES = 64


@tegula.jit
def take(
    best, j, row, x_ptr, value_ptr, index_ptr, n, K: tl.constexpr, BLOCK: tl.constexpr
):
    """The elements of these keys are the j-th largest."""
    index = BLOCK - 1 - (best & 0xFFFFFFFF)
    tl.store(index_ptr + row * K + j, index)
    tl.store(value_ptr + row * K + j, tl.load(x_ptr + row * n + index))


@tegula.jit
def forward_kernel(
    x_ptr, value_ptr, index_ptr, n, K: tl.constexpr, PASSES: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
    bits = x.to(tl.float32).to(tl.int32, bitcast=True)
    # Integers in the order of the floats, with the place behind: one sort for both.
    order = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    key = (order.to(tl.int64) << 32) | (BLOCK - 1 - i).to(tl.int64)
    if PASSES:
        for p in range(K):
            best = tl.max(key, axis=0)
            take(best, p, row, x_ptr, value_ptr, index_ptr, n, K, BLOCK)
            key = tl.where(key == best, -(1 << 63), key)
    else:
        j = tl.arange(0, K)
        take(tl.topk(key, K), j, row, x_ptr, value_ptr, index_ptr, n, K, BLOCK)


@tegula.jit
def backward_kernel(index_ptr, dy_ptr, dx_ptr, n, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    dx = tl.zeros((BLOCK,), dx_ptr.dtype.element_ty)
    for j in range(K):
        here = i == tl.load(index_ptr + row * K + j)
        dx = tl.where(here, tl.load(dy_ptr + row * K + j), dx)
    tl.store(dx_ptr + row * n + i, dx, mask=i < n)


def outputs(x: Any, k: int) -> tuple:
    shape = (*x.shape[:-1], k)
    return arrays.empty(x, shape), arrays.empty(x, shape, "int64")


def run(outs: tuple, x: Any, k: int) -> None:
    n = x.shape[-1]
    few = k <= MAX_PASSES and not arrays.is_on_gpu(x)
    forward_kernel[(arrays.n_rows(x),)](
        arrays.contiguous(x), *outs, n, K=k, PASSES=few, **arrays.row_options(n)
    )


def run_backward(outs: tuple, index: Any, dy: Any, n: int) -> None:
    backward_kernel[(arrays.n_rows(dy),)](
        index, arrays.contiguous(dy), *outs, n, K=dy.shape[-1], **arrays.row_options(n)
    )


_backward = arrays.Op(
    "topk_backward(Tensor index, Tensor dy, int n) -> Tensor",
    lambda index, dy, n: (arrays.empty(dy, (*dy.shape[:-1], n)),),
    run_backward,
)
_topk = arrays.Op(
    "topk(Tensor x, int k) -> (Tensor, Tensor)",
    outputs,
    run,
    lambda args, outs, grads, wanted: _backward(outs[1], grads[0], args[0].shape[-1]),
)


def topk(x: Any, k: int) -> tuple[Any, Any]:
    """(values, indices) of the k largest of each row, the largest first.

    Shapes: x [..., N] with k <= N <= 16384; both results [..., k].
    Types:  f16, bf16, f32; indices i64. NaN is larger than all, as in torch.
    """
    arrays.check_arrays("topk", ("float16", "bfloat16", "float32"), x=x)
    arrays.check_rows("topk", x, MAX_ROW)
    if not 1 <= k <= x.shape[-1]:
        raise ValueError(f"topk: k is between 1 and {x.shape[-1]}, not {k}")
    values, indices = _topk(x, int(k))
    return values, indices
