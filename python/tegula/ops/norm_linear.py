"""A norm and the linear layer behind it: the normalised rows never reach memory.

    y = f(norm(x) @ W.T + b)

One kernel reads the rows for their means and deviations; the product normalises tiles of x
on their way. Backward makes the normalised rows once, for W's gradient.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import activation, arrays, norm
from tegula.ops.matmul import _matmul, options, strides, tile_of


@tegula.jit
def moments_kernel(
    x_ptr, mean_ptr, rstd_ptr, n, eps,
    CENTER: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0).to(ACC)
    if CENTER:
        mean = tl.sum(x, axis=0) / n
        tl.store(mean_ptr + row, mean)
        x = tl.where(i < n, x - mean, 0.0)
    tl.store(rstd_ptr + row, 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n + eps))


@tegula.jit
def kernel(
    x_ptr, gamma_ptr, beta_ptr, mean_ptr, rstd_ptr, w_ptr, bias_ptr, y_ptr, pre_ptr,
    M, N, K, w_n, w_k,
    CENTER: tl.constexpr, ACT: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr, RUN: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    m = (pm * BM + tl.arange(0, BM)).to(tl.int64)
    n = (pn * BN + tl.arange(0, BN)).to(tl.int64)
    rstd = tl.load(rstd_ptr + m, mask=m < M, other=0.0)
    mean = tl.load(mean_ptr + m, mask=m < M, other=0.0) if CENTER else rstd * 0.0
    acc = tl.zeros((BM, BN), ACC)
    for first in range(0, K, RUN):
        part = tl.zeros((BM, BN), ACC)
        for start in range(first, min(first + RUN, K), BK):
            k = start + tl.arange(0, BK)
            mask = (m < M)[:, None] & (k < K)[None, :]
            x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=mask, other=0.0)
            z = (x.to(ACC) - mean[:, None]) * rstd[:, None]
            if gamma_ptr is not None:
                z *= tl.load(gamma_ptr + k, mask=k < K, other=0.0).to(ACC)[None, :]
            if beta_ptr is not None:
                z += tl.load(beta_ptr + k, mask=k < K, other=0.0).to(ACC)[None, :]
            # Behind the last column w is 0, and what stands here does not count.
            mask = (k < K)[:, None] & (n < N)[None, :]
            w = tl.load(
                w_ptr + n[None, :] * w_n + k[:, None] * w_k, mask=mask, other=0.0
            )
            part = tl.dot(z.to(x.dtype), w, part, input_precision="ieee", out_dtype=ACC)
        acc += part
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(ACC)[None, :]
    at, mask = m[:, None] * N + n[None, :], (m < M)[:, None] & (n < N)[None, :]
    if pre_ptr is not None:
        tl.store(pre_ptr + at, acc, mask=mask)
    tl.store(y_ptr + at, activation.apply(acc, ACT), mask=mask)


def outputs(
    x: Any, gamma: Any, beta: Any, w: Any, bias: Any, act: str, eps: float, center: bool
) -> tuple:
    """y, what the activation was applied to, means, 1 / deviations."""
    rows, name = x.shape[0], arrays.accumulator(x)[1]
    shape = (rows, w.shape[0])
    return (
        arrays.empty(x, shape),
        arrays.empty(x, shape if act else (0,)),
        arrays.empty(x, (rows if center else 0,), name),
        arrays.empty(x, (rows,), name),
    )


def run(
    outs: tuple, x: Any, gamma: Any, beta: Any, w: Any, bias: Any, act: str, eps: float,
    center: bool,
) -> None:  # fmt: skip
    y, pre, mean, rstd = outs
    (M, K), N = x.shape, w.shape[0]
    x, gamma, beta, bias = (
        None if a is None else arrays.contiguous(a) for a in (x, gamma, beta, bias)
    )
    mean = mean if center else None
    chosen = options(x, M, N, K)
    moments_kernel[(M,)](
        x, mean, rstd, K, eps, CENTER=center, ACC=chosen["ACC"], **arrays.row_options(K)
    )
    chosen["RUN"] = chosen["RUN"] or tegula.cdiv(K, chosen["BK"]) * chosen["BK"]
    tiles = tegula.cdiv(M, chosen["BM"]) * tegula.cdiv(N, chosen["BN"])
    kernel[(tiles,)](
        x, gamma, beta, mean, rstd, w, bias, y, pre if act else None, M, N, K,
        *strides(w)[1:], CENTER=center, ACT=act, GROUP=8, **chosen,
    )  # fmt: skip


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    x, gamma, beta, w, bias, act, eps, center = args
    dy = grads[0]
    if act:
        dy = activation._backward(outs[1], None, dy, act)[0]

    def product(a: Any, b: Any) -> Any:
        return _matmul(a, b, None, "", "ieee")[0]

    dw = None
    if wanted[3]:
        normal = norm._norm(x, None, gamma, beta, eps, center)[0]
        dw = product(dy.mT, normal)
    dx = dgamma = dbeta = None
    if any(wanted[:3]):
        wants = [
            bool(k) and a is not None
            for k, a in zip(wanted[1:3], (gamma, beta), strict=True)
        ]
        given = x, gamma, outs[2], outs[3], product(dy, w), None
        dx, *sums = norm._backward(*given, *wants)
        dgamma, dbeta = (s if k else None for s, k in zip(sums, wants, strict=True))
    dbias = dy.sum(0) if bias is not None and wanted[4] else None
    return dx, dgamma, dbeta, dw, dbias


_norm_linear = arrays.Op(
    "norm_linear(Tensor x, Tensor? gamma, Tensor? beta, Tensor w, Tensor? bias, str act,"
    " float eps, bool center) -> (Tensor, Tensor, Tensor, Tensor)",
    outputs,
    run,
    gradient,
)


def _call(
    op: str, x: Any, gamma: Any, beta: Any, w: Any, bias: Any, act: str, eps: float,
    center: bool,
) -> Any:  # fmt: skip
    arrays.check_arrays(op, x=x, norm_weight=gamma, norm_bias=beta, weight=w, bias=bias)
    arrays.check_rows(op, x)
    if act not in activation.NAMES:
        raise ValueError(
            f"{op}: activation is one of {', '.join(activation.NAMES[1:])}, not {act!r}"
        )
    K = x.shape[-1]
    if w.ndim != 2 or w.shape[1] != K:
        raise ValueError(f"{op}: weight has shape {list(w.shape)}, expected [N, {K}]")
    sides = {"norm_weight": (gamma, K), "norm_bias": (beta, K), "bias": (bias, len(w))}
    for name, (a, n) in sides.items():
        if a is not None and tuple(a.shape) != (n,):
            raise ValueError(f"{op}: {name} has shape {list(a.shape)}, expected [{n}]")
    rows = x.reshape(-1, K) if x.ndim != 2 else x
    y = _norm_linear(rows, gamma, beta, w, bias, act, float(eps), center)[0]
    return y if x.ndim == 2 else y.reshape(*x.shape[:-1], len(w))


def layer_norm_linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    norm_weight: Any = None,
    norm_bias: Any = None,
    activation: str = "",
    eps: float = 1e-5,
) -> Any:
    """``f(layer_norm(x, norm_weight, norm_bias) @ weight.T + bias)``, nothing in between.

    Shapes: x [..., K] with K from 1 to 65536, weight [N, K], bias [N] or None, norm_weight
            and norm_bias [K] or None; the result [..., N].
    Types:  f16, bf16, f32, f64, the same for all; sums are f32 (f64 for f64).
    activation is "", relu, silu, gelu or gelu_tanh.
    """
    given = x, norm_weight, norm_bias, weight, bias
    return _call("layer_norm_linear", *given, activation, eps, True)


def rms_norm_linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    norm_weight: Any = None,
    activation: str = "",
    eps: float = 1e-6,
) -> Any:
    """``f(rms_norm(x, norm_weight) @ weight.T + bias)``; the rest as layer_norm_linear."""
    given = x, norm_weight, None, weight, bias
    return _call("rms_norm_linear", *given, activation, eps, False)
