"""Group norm: a program normalises the channels of one group of one sample.

A small group is one block [channels, places]: the kernels here; a larger one is walked over
by those of group_norm_large.py. Sums for the gradients of weight and bias are taken over
its places in the kernels and over the samples by the caller.
"""

from __future__ import annotations

import math
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays
from tegula.ops.group_norm_large import large_backward_kernel, large_forward_kernel


@tegula.jit
def forward_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, GROUPS, eps,
    C: tl.constexpr, S: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    c = row % GROUPS * C + tl.arange(0, C)
    at = row * C * S + tl.arange(0, C)[:, None] * S + tl.arange(0, S)[None, :]
    x = tl.load(x_ptr + at).to(ACC)
    mean = tl.sum(tl.sum(x, axis=1), axis=0) / (C * S)
    x = x - mean
    rstd = 1.0 / tl.sqrt(tl.sum(tl.sum(x * x, axis=1), axis=0) / (C * S) + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    y = x * rstd
    if w_ptr is not None:
        y = y * tl.load(w_ptr + c).to(ACC)[:, None]
    if b_ptr is not None:
        y = y + tl.load(b_ptr + c).to(ACC)[:, None]
    tl.store(y_ptr + at, y)


@tegula.jit
def backward_kernel(
    x_ptr, w_ptr, mean_ptr, rstd_ptr, dy_ptr, dx_ptr, dw_ptr, db_ptr, GROUPS,
    C: tl.constexpr, S: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    at = row * C * S + tl.arange(0, C)[:, None] * S + tl.arange(0, S)[None, :]
    rstd = tl.load(rstd_ptr + row)
    xhat = (tl.load(x_ptr + at).to(ACC) - tl.load(mean_ptr + row)) * rstd
    g = tl.load(dy_ptr + at).to(ACC)
    tl.store(dw_ptr + row * C + tl.arange(0, C), tl.sum(g * xhat, axis=1))
    tl.store(db_ptr + row * C + tl.arange(0, C), tl.sum(g, axis=1))
    if w_ptr is not None:
        g = g * tl.load(w_ptr + row % GROUPS * C + tl.arange(0, C)).to(ACC)[:, None]
    along = tl.sum(tl.sum(g * xhat, axis=1), axis=0) / (C * S)
    dx = g - xhat * along - tl.sum(tl.sum(g, axis=1), axis=0) / (C * S)
    tl.store(dx_ptr + at, dx * rstd)


# Elements of a group that is one block: what a GPU's registers hold, a CPU's cache.
MOST_ON_GPU = 8192
MOST_ON_CPU = arrays.MAX_ROW
BLOCK = 4096


def _large(x: Any, groups: int, is_forward: bool) -> dict[str, Any]:
    channels, places = x.shape[1] // groups, math.prod(x.shape[2:])
    acc = arrays.accumulator(x)[0]
    out = {"C": channels, "S": places, "ACC": acc, "BLOCK": BLOCK, "num_warps": 8}
    if not is_forward:
        side = min(tegula.next_power_of_2(places), 1024)
        out |= {"SB": side, "CB": BLOCK // side}
    return out


def _is_large(x: Any, groups: int) -> bool:
    most = MOST_ON_GPU if arrays.is_on_gpu(x) else MOST_ON_CPU
    return x.shape[1] // groups * math.prod(x.shape[2:]) > most


def _sides(x: Any, groups: int) -> dict[str, Any]:
    channels, places = x.shape[1] // groups, math.prod(x.shape[2:])
    warps = max(1, min(16, channels * places // 512))
    warps = 1 << (warps.bit_length() - 1)
    acc = arrays.accumulator(x)[0]
    return {"C": channels, "S": places, "ACC": acc, "num_warps": warps}


def outputs(x: Any, w: Any, b: Any, groups: int, eps: float) -> tuple:
    name = arrays.accumulator(x)[1]
    rows = (x.shape[0] * groups,)
    return arrays.empty(x, x.shape), *(arrays.empty(x, rows, name) for _ in range(2))


def run(outs: tuple, x: Any, w: Any, b: Any, groups: int, eps: float) -> None:
    x, w, b = (None if a is None else arrays.contiguous(a) for a in (x, w, b))
    if arrays.size(x):
        is_large = _is_large(x, groups)
        options = _large(x, groups, True) if is_large else _sides(x, groups)
        kernel = large_forward_kernel if is_large else forward_kernel
        kernel[(x.shape[0] * groups,)](x, w, b, *outs, groups, eps, **options)


def backward_outputs(
    x: Any, w: Any, mean: Any, rstd: Any, dy: Any, groups: int
) -> tuple:
    name = arrays.accumulator(x)[1]
    parts = (arrays.empty(x, x.shape[:2], name) for _ in range(2))
    return arrays.empty(x, x.shape), *parts


def run_backward(
    outs: tuple, x: Any, w: Any, mean: Any, rstd: Any, dy: Any, groups: int
) -> None:
    x, w, dy = (None if a is None else arrays.contiguous(a) for a in (x, w, dy))
    if arrays.size(x):
        is_large = _is_large(x, groups)
        options = _large(x, groups, False) if is_large else _sides(x, groups)
        kernel = large_backward_kernel if is_large else backward_kernel
        kernel[(x.shape[0] * groups,)](x, w, mean, rstd, dy, *outs, groups, **options)


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    x, w, b, groups, _ = args
    dx, dw, db = _backward(x, w, outs[1], outs[2], grads[0], groups)
    return (
        dx,
        None if w is None else dw.sum(0).to(x.dtype),
        None if b is None else db.sum(0).to(x.dtype),
    )


_backward = arrays.Op(
    "group_norm_backward(Tensor x, Tensor? w, Tensor mean, Tensor rstd, Tensor dy,"
    " int groups) -> (Tensor, Tensor, Tensor)",
    backward_outputs,
    run_backward,
)
_group_norm = arrays.Op(
    "group_norm(Tensor x, Tensor? w, Tensor? b, int groups, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    outputs,
    run,
    gradient,
)


def group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Each group of channels of each sample to mean 0 and variance 1, then scaled.

    Shapes: x [N, C, ...] with C a multiple of groups; weight and bias [C] or None.
    Types:  f16, bf16, f32, f64, the same for all; sums are f32 (f64 for f64).
    """
    arrays.check_arrays("group_norm", x=x, weight=weight, bias=bias)
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ValueError(
            f"group_norm: x has shape {list(x.shape)}, expected [N, C, ..] with C a "
            f"multiple of the {groups} groups"
        )
    for name, a in (("weight", weight), ("bias", bias)):
        if a is not None and tuple(a.shape) != (x.shape[1],):
            raise ValueError(f"group_norm: {name} has shape {list(a.shape)}")
    return _group_norm(x, weight, bias, int(groups), float(eps))[0]
