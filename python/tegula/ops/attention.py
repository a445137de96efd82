"""Attention without the matrix of scores: online softmax forward, scores again backward.

    S = q k^T * scale,  P = softmax(S),  o = P v

Backward has P from the kept log-sum-exp of the rows of S, and

    dv = P^T do,  dS = P * (do v^T - rowsum(o * do)),  dq = dS k * scale,
    dk = dS^T q * scale

Heads of q share heads of k and v in groups (GQA). MASK is a function of the language,
mask(batch, head, m, n) -> bool, inlined into all three kernels.
"""

from __future__ import annotations

import math
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays


@tegula.jit
def weights(
    q, k, shift, b, h, m, n, scale, M, N,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """S as far as it counts, else -inf, minus shift; q and k are rows."""
    s = tl.dot(q, tl.trans(k), out_dtype=ACC, input_precision="ieee") * scale
    keep = (m[:, None] < M) & (n[None, :] < N)
    if CAUSAL:
        keep = keep & (m[:, None] >= n[None, :])
    if MASK is not None:
        keep = keep & MASK(b, h, m[:, None], n[None, :])
    return tl.where(keep, s - shift, -float("inf"))


@tegula.jit
def rows(ptr, head, i, n, D: tl.constexpr):
    """Rows i of a contiguous [.., n, D], zeros below the last."""
    d = tl.arange(0, D)
    at = head.to(tl.int64) * n * D + i[:, None] * D + d[None, :]
    return tl.load(ptr + at, mask=i[:, None] < n, other=0.0)


@tegula.jit
def put(ptr, head, i, n, x, D: tl.constexpr):
    d = tl.arange(0, D)
    at = head.to(tl.int64) * n * D + i[:, None] * D + d[None, :]
    tl.store(ptr + at, x, mask=i[:, None] < n)


@tegula.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, H, GROUP, M, N, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr, ACC: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    kv = head // GROUP
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    q = rows(q_ptr, head, m, M, D)
    top = tl.full((BM,), -float("inf"), ACC)
    total = tl.zeros((BM,), ACC)
    acc = tl.zeros((BM, D), ACC)
    end = min(N, (tl.program_id(0) + 1) * BM) if CAUSAL else N
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        k = rows(k_ptr, kv, n, N, D)
        s = weights(
            q, k, 0.0, head // H, head % H, m, n, scale, M, N, CAUSAL, MASK, ACC
        )
        higher = tl.maximum(top, tl.max(s, axis=1))
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        p = tl.exp(s - shift[:, None])
        alpha = tl.exp(top - shift)
        total = total * alpha + tl.sum(p, axis=1)
        v = rows(v_ptr, kv, n, N, D)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc, out_dtype=ACC, input_precision="ieee")
        top = higher
    # A row that is masked as a whole gives 0.
    lse = tl.where(total > 0.0, top + tl.log(total), 0.0)
    put(o_ptr, head, m, M, acc / tl.where(total > 0.0, total, 1.0)[:, None], D)
    tl.store(lse_ptr + head.to(tl.int64) * M + m, lse, mask=m < M)


@tegula.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, do_ptr, dq_ptr, delta_ptr, H, GROUP, M, N, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr, ACC: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    kv = head // GROUP
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    q = rows(q_ptr, head, m, M, D)
    do = rows(do_ptr, head, m, M, D)
    delta = tl.sum(do.to(ACC) * rows(o_ptr, head, m, M, D).to(ACC), axis=1)
    tl.store(delta_ptr + head.to(tl.int64) * M + m, delta, mask=m < M)
    lse = tl.load(lse_ptr + head.to(tl.int64) * M + m, mask=m < M, other=0.0)
    dq = tl.zeros((BM, D), ACC)
    end = min(N, (tl.program_id(0) + 1) * BM) if CAUSAL else N
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        k = rows(k_ptr, kv, n, N, D)
        v = rows(v_ptr, kv, n, N, D)
        p = tl.exp(
            weights(
                q,
                k,
                lse[:, None],
                head // H,
                head % H,
                m,
                n,
                scale,
                M,
                N,
                CAUSAL,
                MASK,
                ACC,
            )
        )
        dp = tl.dot(do, tl.trans(v), out_dtype=ACC, input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, out_dtype=ACC, input_precision="ieee")
    put(dq_ptr, head, m, M, dq * scale, D)


@tegula.jit
def dkv_kernel(
    q_ptr, k_ptr, v_ptr, lse_ptr, do_ptr, delta_ptr, dk_ptr, dv_ptr, H, GROUP, M, N, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr, ACC: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(1)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = rows(k_ptr, kv, n, N, D)
    v = rows(v_ptr, kv, n, N, D)
    dk = tl.zeros((BN, D), ACC)
    dv = tl.zeros((BN, D), ACC)
    first = tl.program_id(0) * BN // BM * BM if CAUSAL else 0
    for head in range(kv * GROUP, kv * GROUP + GROUP):
        for start in range(first, M, BM):
            m = start + tl.arange(0, BM)
            q = rows(q_ptr, head, m, M, D)
            do = rows(do_ptr, head, m, M, D)
            at = head.to(tl.int64) * M + m
            lse = tl.load(lse_ptr + at, mask=m < M, other=0.0)
            delta = tl.load(delta_ptr + at, mask=m < M, other=0.0)
            p = tl.exp(
                weights(
                    q,
                    k,
                    lse[:, None],
                    head // H,
                    head % H,
                    m,
                    n,
                    scale,
                    M,
                    N,
                    CAUSAL,
                    MASK,
                    ACC,
                )
            )
            pt = tl.trans(p.to(do.dtype))
            dv = tl.dot(pt, do, dv, out_dtype=ACC, input_precision="ieee")
            dp = tl.dot(do, tl.trans(v), out_dtype=ACC, input_precision="ieee")
            ds = tl.trans((p * (dp - delta[:, None])).to(q.dtype))
            dk = tl.dot(ds, q, dk, out_dtype=ACC, input_precision="ieee")
    put(dk_ptr, kv, n, N, dk * scale, D)
    put(dv_ptr, kv, n, N, dv, D)


# Masks by their names, which is how they pass through torch's graphs.
_MASKS: dict[str, Any] = {"": None}


def _options(q: Any, causal: bool, mask: str) -> dict[str, Any]:
    D, acc = q.shape[-1], arrays.accumulator(q)[0]
    wide = arrays.dtype_name(q) in ("float32", "float64") or D > 128
    BM, BN = (32, 32) if wide else (64, 64)
    return {
        "D": D, "CAUSAL": causal, "MASK": _MASKS[mask], "ACC": acc, "BM": BM, "BN": BN
    }  # fmt: skip


def outputs(q: Any, k: Any, v: Any, causal: bool, scale: float, mask: str) -> tuple:
    name = arrays.accumulator(q)[1]
    return arrays.empty(q, q.shape), arrays.empty(q, q.shape[:3], name)


def run(
    outs: tuple, q: Any, k: Any, v: Any, causal: bool, scale: float, mask: str
) -> None:
    q, k, v = (arrays.contiguous(a) for a in (q, k, v))
    (B, H, M, _), Hk, N = q.shape, k.shape[1], k.shape[2]
    options = _options(q, causal, mask)
    forward_kernel[(tegula.cdiv(M, options["BM"]), B * H)](
        q, k, v, *outs, H, H // Hk, M, N, scale, **options
    )


def backward_outputs(q: Any, k: Any, v: Any, *_: Any) -> tuple:
    return tuple(arrays.empty(a, a.shape) for a in (q, k, v))


def run_backward(
    outs: tuple, q: Any, k: Any, v: Any, o: Any, lse: Any, do: Any,
    causal: bool, scale: float, mask: str,
) -> None:  # fmt: skip
    q, k, v, do = (arrays.contiguous(a) for a in (q, k, v, do))
    dq, dk, dv = outs
    (B, H, M, _), Hk, N = q.shape, k.shape[1], k.shape[2]
    sizes = H, H // Hk, M, N, scale
    delta = arrays.empty(lse, lse.shape)
    options = _options(q, causal, mask)
    dq_kernel[(tegula.cdiv(M, options["BM"]), B * H)](
        q, k, v, o, lse, do, dq, delta, *sizes, **options
    )
    dkv_kernel[(tegula.cdiv(N, options["BN"]), B * Hk)](
        q, k, v, lse, do, delta, dk, dv, *sizes, **options
    )


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    return _backward(*args[:3], *outs, grads[0], *args[3:])


_backward = arrays.Op(
    "attention_backward(Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor do,"
    " bool causal, float scale, str mask) -> (Tensor, Tensor, Tensor)",
    backward_outputs,
    run_backward,
)
_attention = arrays.Op(
    "attention(Tensor q, Tensor k, Tensor v, bool causal, float scale, str mask)"
    " -> (Tensor, Tensor)",
    outputs,
    run,
    gradient,
)


def attention(
    q: Any,
    k: Any,
    v: Any,
    causal: bool = False,
    scale: float | None = None,
    mask: Any = None,
) -> Any:
    """``softmax(q @ k.T * scale) @ v`` for each batch and head.

    Shapes: q [B, H, M, D], k and v [B, Hk, N, D] with H a multiple of Hk; as q. D <= 256.
    Types:  f16, bf16, f32, f64, the same for all; scores are f32 (f64 for f64).
    causal  row m sees the columns n <= m.
    scale   1 / sqrt(D) where None.
    mask    a kernel ``mask(batch, head, m, n)`` that gives a bool for each pair, in the
            manner of flex attention: windows, documents, prefixes. It is compiled in. A
            row that sees nothing is 0.
    """
    arrays.check_arrays("attention", q=q, k=k, v=v)
    shapes = f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)}"
    if q.ndim != 4 or k.ndim != 4 or tuple(k.shape) != tuple(v.shape):
        raise ValueError(
            f"attention: {shapes}; expected [B, H, M, D] and [B, Hk, N, D]"
        )
    B, H, _, D = q.shape
    if k.shape[0] != B or k.shape[3] != D or H % k.shape[1] or not 1 <= D <= 256:
        raise ValueError(f"attention: {shapes} do not fit each other")
    name = ""
    if mask is not None:
        if not isinstance(mask, tegula.JITFunction):
            raise TypeError(f"attention: mask is a function under @jit, not {mask!r}")
        name = f"{mask.__module__}.{mask.__qualname__}:{id(mask):x}"
        _MASKS[name] = mask
    scale = 1.0 / math.sqrt(D) if scale is None else float(scale)
    return _attention(q, k, v, bool(causal), scale, name)[0]
