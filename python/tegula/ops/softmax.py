"""Softmax over the last side: one program a row, one read, one write."""

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
def backward_kernel(y_ptr, dy_ptr, dx_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + start + i, mask=i < n, other=0.0).to(ACC)
    dy = tl.load(dy_ptr + start + i, mask=i < n, other=0.0).to(ACC)
    dx = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(dx_ptr + start + i, dx, mask=i < n)


def forward(options: dict, x: Any) -> tuple[Any, tuple]:
    x = arrays.contiguous(x)
    y = arrays.empty(x, x.shape)
    n = x.shape[-1]
    acc, _ = arrays.accumulator(x)
    forward_kernel[(arrays.n_rows(x),)](x, y, n, ACC=acc, **arrays.row_options(n))
    return y, (y,)


def backward(options: dict, kept: tuple, dy: Any, wanted: tuple) -> tuple:
    (y,) = kept
    dy = arrays.contiguous(dy)
    dx = arrays.empty(y, y.shape)
    n = y.shape[-1]
    acc, _ = arrays.accumulator(y)
    backward_kernel[(arrays.n_rows(y),)](y, dy, dx, n, ACC=acc, **arrays.row_options(n))
    return (dx,)


_softmax = arrays.differentiable(forward, backward)


def softmax(x: Any) -> Any:
    """``exp(x) / sum(exp(x))`` over the last side, without overflow.

    Shapes: x [..., N] with N from 1 to 65536; the result has x's shape.
    Types:  f16, bf16, f32, f64, array or tensor; sums are f32 (f64 for f64).
    Cost:   x read once, the result written once; backward reads two and writes one.
    Errors: TypeError for another dtype, ValueError for another N.
    """
    arrays.check_arrays("softmax", x=x)
    arrays.check_rows("softmax", x)
    return _softmax({}, x)
