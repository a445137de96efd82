"""Layer norm and RMS norm over the last side: one kernel each way, CENTER tells them apart.

    xhat = (x - mean) * rstd          mean is 0 for RMS norm
    y    = xhat * w + b

and, with g = dy * w,

    dx = (g - xhat * mean(g * xhat) - mean(g)) * rstd       the last mean: layer norm only
    dw = sum over rows of dy * xhat,  db = sum over rows of dy

A backward program walks every PROGRAMS-th row and keeps its dw and db in registers, so the
sums need no atomics and have one order: same input, same bits.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays

PROGRAMS = 64  # rows of partial sums that backward leaves


@tegula.jit
def forward_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, n, eps,
    CENTER: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + row * n + i, mask=mask, other=0.0).to(ACC)
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
    x_ptr, w_ptr, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, rows, n,
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
        tl.store(dx_ptr + at, dx * rstd, mask=mask)
        dw += dy * xhat
        db += dy
    if dw_ptr is not None:
        tl.store(dw_ptr + first * n + i, dw, mask=mask)
    if db_ptr is not None:
        tl.store(db_ptr + first * n + i, db, mask=mask)


def forward(options: dict, x: Any, w: Any, b: Any) -> tuple[Any, tuple]:
    x, w, b = (None if a is None else arrays.contiguous(a) for a in (x, w, b))
    n, rows = x.shape[-1], arrays.n_rows(x)
    acc, name = arrays.accumulator(x)
    y = arrays.empty(x, x.shape)
    rstd = arrays.empty(x, (rows,), name)
    mean = arrays.empty(x, (rows,), name) if options["center"] else None
    forward_kernel[(rows,)](
        x, w, b, y, mean, rstd, n, options["eps"],
        CENTER=options["center"], ACC=acc, **arrays.row_options(n),
    )  # fmt: skip
    return y, (x, w, mean, rstd)


def backward(options: dict, kept: tuple, dy: Any, wanted: tuple) -> tuple:
    x, w, mean, rstd = kept
    dy = arrays.contiguous(dy)
    n, rows = x.shape[-1], arrays.n_rows(x)
    acc, name = arrays.accumulator(x)
    programs = min(rows, PROGRAMS)
    dx = arrays.empty(x, x.shape)
    dw, db = (arrays.empty(x, (programs, n), name) if k else None for k in wanted[1:])
    backward_kernel[(programs,)](
        x, w, dy, mean, rstd, dx, dw, db, rows, n,
        CENTER=options["center"], ACC=acc, **arrays.row_options(n),
    )  # fmt: skip
    sums = (None if d is None else d.sum(0).to(x.dtype) for d in (dw, db))
    return dx, *sums


_norm = arrays.differentiable(forward, backward)


def _call(op: str, x: Any, weight: Any, bias: Any, eps: float, center: bool) -> Any:
    arrays.check_arrays(op, x=x, weight=weight, bias=bias)
    arrays.check_rows(op, x)
    for name, a in (("weight", weight), ("bias", bias)):
        if a is not None and tuple(a.shape) != tuple(x.shape[-1:]):
            raise ValueError(
                f"{op}: {name} has shape {list(a.shape)}, "
                f"the rows of x want [{x.shape[-1]}]"
            )
    return _norm({"eps": float(eps), "center": center}, x, weight, bias)


def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last side.

    Shapes: x [..., N] with N from 1 to 65536; weight and bias [N] or None.
    Types:  f16, bf16, f32, f64, the same for all; sums are f32 (f64 for f64).
    Cost:   x read once, the result written once; backward reads two and writes one.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    return _call("layer_norm", x, weight, bias, eps, True)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """``x / sqrt(mean(x * x) + eps) * weight`` over the last side.

    Shapes: x [..., N] with N from 1 to 65536; weight [N] or None.
    Types:  f16, bf16, f32, f64, the same for both; sums are f32 (f64 for f64).
    Cost:   x read once, the result written once; backward reads two and writes one.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    return _call("rms_norm", x, weight, None, eps, False)
