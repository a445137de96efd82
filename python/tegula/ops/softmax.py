"""Softmax over the last side. A program has a row: whole where it fits, else in blocks,
with a running maximum."""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays


@tegula.jit
def forward_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + i, mask=i < n, other=-float("inf")).to(ACC)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + start + i, e / tl.sum(e, axis=0), mask=i < n)


@tegula.jit
def wide_forward_kernel(x_ptr, y_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), ACC)
    total = tl.zeros((BLOCK,), ACC)
    for at in range(0, n, BLOCK):  # each lane has a maximum and a sum of its own
        x = tl.load(x_ptr + start + at + i, mask=at + i < n, other=-float("inf")).to(
            ACC
        )
        higher = tl.maximum(top, x)
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - shift) + tl.exp(x - shift)
        top = higher
    m = tl.max(top, axis=0)
    total = tl.sum(total * tl.exp(top - m), axis=0)
    for at in range(0, n, BLOCK):
        x = tl.load(x_ptr + start + at + i, mask=at + i < n, other=-float("inf")).to(
            ACC
        )
        tl.store(y_ptr + start + at + i, tl.exp(x - m) / total, mask=at + i < n)


@tegula.jit
def backward_kernel(y_ptr, dy_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + start + i, mask=i < n, other=0.0).to(ACC)
    dy = tl.load(dy_ptr + start + i, mask=i < n, other=0.0).to(ACC)
    dx = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(dx_ptr + start + i, dx, mask=i < n)


@tegula.jit
def wide_backward_kernel(
    y_ptr, dy_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    start = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), ACC)
    for at in range(0, n, BLOCK):
        mask = at + i < n
        y = tl.load(y_ptr + start + at + i, mask=mask, other=0.0).to(ACC)
        total += y * tl.load(dy_ptr + start + at + i, mask=mask, other=0.0).to(ACC)
    product = tl.sum(total, axis=0)
    for at in range(0, n, BLOCK):
        mask = at + i < n
        y = tl.load(y_ptr + start + at + i, mask=mask, other=0.0).to(ACC)
        dy = tl.load(dy_ptr + start + at + i, mask=mask, other=0.0).to(ACC)
        tl.store(dx_ptr + start + at + i, y * (dy - product), mask=mask)


def _launch(kernel: Any, wide: Any, x: Any, *args: Any) -> None:
    n = x.shape[-1]
    acc, _ = arrays.accumulator(x)
    if n <= arrays.MAX_ROW:
        options = arrays.row_options(n)
    else:
        kernel, options = wide, {"BLOCK": 4096, "num_warps": 8}
    kernel[(arrays.n_rows(x),)](*args, n, ACC=acc, **options)


def run(outs: tuple, x: Any) -> None:
    _launch(forward_kernel, wide_forward_kernel, x, arrays.contiguous(x), *outs)


def run_backward(outs: tuple, y: Any, dy: Any) -> None:
    given = arrays.contiguous(y), arrays.contiguous(dy)
    _launch(backward_kernel, wide_backward_kernel, y, *given, *outs)


def like(x: Any, *_: Any) -> tuple:
    return (arrays.empty(x, x.shape),)


_backward = arrays.Op(
    "softmax_backward(Tensor y, Tensor dy) -> Tensor", like, run_backward
)
_softmax = arrays.Op(
    "softmax(Tensor x) -> Tensor",
    like,
    run,
    lambda args, outs, grads, wanted: _backward(outs[0], grads[0]),
)


def softmax(x: Any) -> Any:
    """``exp(x) / sum(exp(x))`` over the last side, without overflow.

    Shapes: x [..., N] with N >= 1; the result has x's shape.
    Types:  f16, bf16, f32, f64, array or tensor; sums are f32 (f64 for f64).
    Cost:   x read once, the result written once; backward reads two and writes one. Rows
            of more than 65536 are read twice.
    Errors: TypeError for another dtype, ValueError for another N.
    """
    arrays.check_arrays("softmax", x=x)
    arrays.check_rows("softmax", x, None)
    return _softmax(x)[0]
