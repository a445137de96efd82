"""Layer norm and RMS norm over the last side: one kernel each way, CENTER tells them apart.

    xhat = (x - mean) * rstd          mean is 0 for RMS norm
    y    = xhat * w + b

and, with g = dy * w,

    dx = (g - xhat * mean(g * xhat) - mean(g)) * rstd       the last mean: layer norm only
    dw = sum over rows of dy * xhat,  db = sum over rows of dy

A backward program walks every so many-th row and keeps its dw and db in registers; a
second kernel adds the programs' sums. No atomics, one order: same input, same bits.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays


@tegula.jit
def forward_kernel(
    x_ptr, res_ptr, w_ptr, b_ptr, y_ptr, sum_ptr, mean_ptr, rstd_ptr, n, eps,
    CENTER: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + row * n + i, mask=mask, other=0.0)
    if res_ptr is not None:
        x = x + tl.load(res_ptr + row * n + i, mask=mask, other=0.0)
        tl.store(sum_ptr + row * n + i, x, mask=mask)
    x = x.to(ACC)
    if CENTER:
        mean = tl.sum(x, axis=0) / n
        tl.store(mean_ptr + row, mean)
        x = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(rstd_ptr + row, rstd)
    y = x * rstd
    if w_ptr is not None:
        y = y * tl.load(w_ptr + i, mask=mask, other=0.0).to(ACC)
    if b_ptr is not None:
        y = y + tl.load(b_ptr + i, mask=mask, other=0.0).to(ACC)
    tl.store(y_ptr + row * n + i, y, mask=mask)


@tegula.jit
def backward_kernel(
    x_ptr, w_ptr, dy_ptr, dsum_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, rows, n,
    CENTER: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n
    dw = tl.zeros((BLOCK,), dtype=ACC)
    db = tl.zeros((BLOCK,), dtype=ACC)
    for r in range(first, rows, tl.num_programs(0)):
        at = r.to(tl.int64) * n + i
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(ACC)
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(ACC)
        rstd = tl.load(rstd_ptr + r)
        if CENTER:
            x = tl.where(mask, x - tl.load(mean_ptr + r), 0.0)
        xhat = x * rstd
        g = dy
        if w_ptr is not None:
            g = g * tl.load(w_ptr + i, mask=mask, other=0.0).to(ACC)
        dx = g - xhat * (tl.sum(g * xhat, axis=0) / n)
        if CENTER:
            dx = dx - tl.sum(g, axis=0) / n
        dx = dx * rstd
        if dsum_ptr is not None:
            dx += tl.load(dsum_ptr + at, mask=mask, other=0.0).to(ACC)
        tl.store(dx_ptr + at, dx, mask=mask)
        dw += dy * xhat
        db += dy
    if dw_ptr is not None:
        tl.store(dw_ptr + first * n + i, dw, mask=mask)
    if db_ptr is not None:
        tl.store(db_ptr + first * n + i, db, mask=mask)


@tegula.jit
def sum_kernel(
    dw_ptr, db_ptr, w_out, b_out, rows, n, BM: tl.constexpr, BN: tl.constexpr
):
    """Columns of both matrices of partial sums, a matrix for each program of axis 1."""
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    if tl.program_id(1) == 0:
        if dw_ptr is not None:
            tl.store(w_out + i, columns(dw_ptr, i, rows, n, BM, BN), mask=i < n)
    else:
        if db_ptr is not None:
            tl.store(b_out + i, columns(db_ptr, i, rows, n, BM, BN), mask=i < n)


@tegula.jit
def columns(ptr, i, rows, n, BM: tl.constexpr, BN: tl.constexpr):
    total = tl.zeros((BM, BN), ptr.dtype.element_ty)
    for start in range(0, rows, BM):
        r = start + tl.arange(0, BM)
        mask = (r < rows)[:, None] & (i < n)[None, :]
        total += tl.load(ptr + r[:, None] * n + i[None, :], mask=mask, other=0.0)
    return tl.sum(total, axis=0)


def outputs(x: Any, res: Any, w: Any, b: Any, eps: float, center: bool) -> tuple:
    """y, x + res where there is a res, means, 1 / deviations."""
    rows, name = arrays.n_rows(x), arrays.accumulator(x)[1]
    return (
        arrays.empty(x, x.shape),
        arrays.empty(x, (0,) if res is None else x.shape),
        arrays.empty(x, (rows if center else 0,), name),
        arrays.empty(x, (rows,), name),
    )


def run(
    outs: tuple, x: Any, res: Any, w: Any, b: Any, eps: float, center: bool
) -> None:
    given = (None if a is None else arrays.contiguous(a) for a in (x, res, w, b))
    y, total, mean, rstd = outs
    forward_kernel[(arrays.n_rows(x),)](
        *given, y, None if res is None else total, mean if center else None, rstd,
        x.shape[-1], eps, CENTER=center, ACC=arrays.accumulator(x)[0],
        **arrays.row_options(x.shape[-1]),
    )  # fmt: skip


def backward_outputs(
    x: Any, w: Any, mean: Any, rstd: Any, dy: Any, dsum: Any, want_w: bool, want_b: bool
) -> tuple:
    """dx, dw and db: the latter empty where nobody wants them."""
    dw, db = (arrays.empty(x, x.shape[-1:] if k else (0,)) for k in (want_w, want_b))
    return arrays.empty(x, x.shape), dw, db


def run_backward(
    outs: tuple, x: Any, w: Any, mean: Any, rstd: Any, dy: Any, dsum: Any,
    want_w: bool, want_b: bool,
) -> None:  # fmt: skip
    dx, *sums = outs
    n, rows = x.shape[-1], arrays.n_rows(x)
    programs = min(rows, arrays.n_resident(x))
    acc, name = arrays.accumulator(x)
    x, w, dy, dsum = (
        None if a is None else arrays.contiguous(a) for a in (x, w, dy, dsum)
    )
    wanted = want_w, want_b
    parts = [arrays.empty(x, (programs, n), name) if k else None for k in wanted]
    backward_kernel[(programs,)](
        x, w, dy, dsum, mean, rstd, dx, *parts, rows, n,
        CENTER=mean.shape[0] > 0, ACC=acc, **arrays.row_options(n),
    )  # fmt: skip
    if want_w or want_b:
        # Few rows of a tile add up exactly, many keep a GPU's loads in flight.
        BM, BN = (64, 32) if arrays.is_on_gpu(x) else (8, 128)
        sum_kernel[(tegula.cdiv(n, BN), 2 if want_b else 1)](
            *parts, *(s if k else None for s, k in zip(sums, wanted, strict=True)),
            programs, n, BM=BM, BN=BN,
        )  # fmt: skip


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    x, res, w, b, *_ = args
    want_w, want_b = (
        bool(k) and a is not None for k, a in zip(wanted[2:4], (w, b), strict=True)
    )
    y, total, mean, rstd = outs
    dy = grads[0] if grads[0] is not None else y * 0
    dsum = None if res is None else grads[1]
    x = x if res is None else total
    dx, dw, db = _backward(x, w, mean, rstd, dy, dsum, want_w, want_b)
    return (
        dx,
        None if res is None else dx,
        dw if want_w else None,
        db if want_b else None,
    )


_backward = arrays.Op(
    "norm_backward(Tensor x, Tensor? w, Tensor mean, Tensor rstd, Tensor dy, Tensor? dsum,"
    " bool want_w, bool want_b) -> (Tensor, Tensor, Tensor)",
    backward_outputs,
    run_backward,
)
_norm = arrays.Op(
    "norm(Tensor x, Tensor? res, Tensor? w, Tensor? b, float eps, bool center)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    outputs,
    run,
    gradient,
)


def _call(
    op: str, x: Any, res: Any, weight: Any, bias: Any, eps: float, center: bool
) -> tuple:
    arrays.check_arrays(op, x=x, residual=res, weight=weight, bias=bias)
    arrays.check_rows(op, x)
    for name, a in (("weight", weight), ("bias", bias)):
        if a is not None and tuple(a.shape) != tuple(x.shape[-1:]):
            raise ValueError(
                f"{op}: {name} has shape {list(a.shape)}, "
                f"the rows of x want [{x.shape[-1]}]"
            )
    if res is not None and tuple(res.shape) != tuple(x.shape):
        raise ValueError(
            f"{op}: residual has shape {list(res.shape)}, and x has {list(x.shape)}"
        )
    return _norm(x, res, weight, bias, float(eps), center)


def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last side.

    Shapes: x [..., N] with N from 1 to 65536; weight and bias [N] or None.
    Types:  f16, bf16, f32, f64, the same for all; sums are f32 (f64 for f64).
    Cost:   x read once, the result written once; backward reads two and writes one.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    return _call("layer_norm", x, None, weight, bias, eps, True)[0]


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """``x / sqrt(mean(x * x) + eps) * weight`` over the last side.

    Shapes: x [..., N] with N from 1 to 65536; weight [N] or None.
    Types:  f16, bf16, f32, f64, the same for both; sums are f32 (f64 for f64).
    Cost:   x read once, the result written once; backward reads two and writes one.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    return _call("rms_norm", x, None, weight, None, eps, False)[0]


def add_rms_norm(
    x: Any, residual: Any, weight: Any = None, eps: float = 1e-6
) -> tuple[Any, Any]:
    """(rms_norm(x + residual), x + residual): the way from one block of a transformer to
    the next, in two reads and two writes.

    Shapes and types as rms_norm's; residual has x's shape.
    """
    y, total, *_ = _call("add_rms_norm", x, residual, weight, None, eps, False)
    return y, total
