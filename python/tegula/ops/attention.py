"""Attention without the matrix of scores: online softmax forward, scores again backward.

    S = f(q k^T * scale),  P = softmax(S),  o = P v

Backward has P from the kept log-sum-exp of the rows of S, and

    dv = P^T do,  dS = P * (do v^T - rowsum(o * do)) * f',  dq = dS k * scale,
    dk = dS^T q * scale

Heads of q share heads of k and v in groups (GQA). The sequences of a batch lie side by side
[B, H, T, D], or one after the other [T, H, D] with the places where they begin: `place` is
all that tells the two apart. MASK, SCORE (f) and SLOPE (f') are functions of the language,
inlined into all three kernels.
"""

from __future__ import annotations

import math
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays


# --- what all kernels of attention share --------------------------------------------------
@tegula.jit
def place(starts, head, H, n, D: tl.constexpr):
    """(first element, elements from row to row, rows) of the sequence of this head."""
    if starts is None:
        return head.to(tl.int64) * n * D, D, n
    else:
        first = tl.load(starts + head // H)
        rows = tl.load(starts + head // H + 1) - first
        return (first.to(tl.int64) * H + head % H) * D, H * D, rows.to(tl.int32)


@tegula.jit
def rows(ptr, base, stride, i, n, D: tl.constexpr):
    """Rows i of n, zeros below the last."""
    at = base + i[:, None].to(tl.int64) * stride + tl.arange(0, D)[None, :]
    return tl.load(ptr + at, mask=i[:, None] < n, other=0.0)


@tegula.jit
def put(ptr, base, stride, i, n, x, D: tl.constexpr):
    at = base + i[:, None].to(tl.int64) * stride + tl.arange(0, D)[None, :]
    tl.store(ptr + at, x, mask=i[:, None] < n)


@tegula.jit
def product(a, b, acc, ACC: tl.constexpr):
    """acc + a @ b; of wide types the products are summed before they meet acc, as the error
    of one long chain of sums is larger than that of a chain of blocks' sums. A difference
    stays one, where a sum with a product would become one chain."""
    if a.dtype.primitive_bitwidth < 32:
        return tl.dot(a, b, acc, out_dtype=ACC, input_precision="ieee")
    else:
        return acc - tl.dot(-a, b, out_dtype=ACC, input_precision="ieee")


@tegula.jit
def raw_scores(q, k, scale, ACC: tl.constexpr):
    return tl.dot(q, tl.trans(k), out_dtype=ACC, input_precision="ieee") * scale


@tegula.jit
def scores(
    raw, b, h, m, n, M, N,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, SCORE: tl.constexpr,
):  # fmt: skip
    """The scores as far as they count, else -inf."""
    s = raw
    if SCORE is not None:
        s = SCORE(s, b, h, m[:, None], n[None, :]).to(raw.dtype)
    keep = (m[:, None] < M) & (n[None, :] < N)
    if CAUSAL:
        keep = keep & (m[:, None] >= n[None, :])
    if MASK is not None:
        keep = keep & MASK(b, h, m[:, None], n[None, :])
    return tl.where(keep, s, -float("inf"))


@tegula.jit
def absorb(s, v, top, total, acc, ACC: tl.constexpr):
    """One block of scores and of v into the running maximum, sum and result."""
    higher = tl.maximum(top, tl.max(s, axis=1))
    # A row that has seen nothing yet: what is subtracted stays finite.
    shift = tl.where(higher == -float("inf"), 0.0, higher)
    p = tl.exp(s - shift[:, None])
    alpha = tl.exp(top - shift)
    acc = product(p.to(v.dtype), v, acc * alpha[:, None], ACC)
    return higher, total * alpha + tl.sum(p, axis=1), acc


@tegula.jit
def finish(top, total, acc):
    """(o, log-sum-exp); a row that is masked as a whole gives 0."""
    lse = tl.where(total > 0.0, top + tl.log(total), 0.0)
    return acc / tl.where(total > 0.0, total, 1.0)[:, None], lse


# --- the kernels --------------------------------------------------------------------------
@tegula.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, q_starts, k_starts, o_ptr, lse_ptr, H, GROUP, M, N, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr, SCORE: tl.constexpr,
    SLOPE: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    q_base, q_step, M = place(q_starts, head, H, M, D)
    k_base, k_step, N = place(k_starts, head // GROUP, H // GROUP, N, D)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    q = rows(q_ptr, q_base, q_step, m, M, D)
    top = tl.full((BM,), -float("inf"), ACC)
    total = tl.zeros((BM,), ACC)
    acc = tl.zeros((BM, D), ACC)
    end = min(N, (tl.program_id(0) + 1) * BM) if CAUSAL else N
    if tl.program_id(0) * BM >= M:  # of a sequence that is shorter than the longest
        end = 0
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        raw = raw_scores(q, rows(k_ptr, k_base, k_step, n, N, D), scale, ACC)
        s = scores(raw, head // H, head % H, m, n, M, N, CAUSAL, MASK, SCORE)
        v = rows(v_ptr, k_base, k_step, n, N, D)
        top, total, acc = absorb(s, v, top, total, acc, ACC)
    o, lse = finish(top, total, acc)
    put(o_ptr, q_base, q_step, m, M, o, D)
    tl.store(lse_ptr + q_base // D + m * (q_step // D), lse, mask=m < M)


@tegula.jit
def slopes(
    raw, lse, delta, do, v, b, h, m, n, M, N,
    CAUSAL: tl.constexpr, MASK: tl.constexpr, SCORE: tl.constexpr, SLOPE: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    """(P, dS) of a block."""
    s = scores(raw, b, h, m, n, M, N, CAUSAL, MASK, SCORE)
    p = tl.exp(s - lse[:, None])
    dp = tl.dot(do, tl.trans(v), out_dtype=ACC, input_precision="ieee")
    ds = p * (dp - delta[:, None])
    if SLOPE is not None:
        ds = ds * SLOPE(raw, b, h, m[:, None], n[None, :]).to(ACC)
    return p, ds


@tegula.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, q_starts, k_starts, o_ptr, lse_ptr, do_ptr, dq_ptr, delta_ptr,
    H, GROUP, M, N, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr, SCORE: tl.constexpr,
    SLOPE: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    q_base, q_step, M = place(q_starts, head, H, M, D)
    k_base, k_step, N = place(k_starts, head // GROUP, H // GROUP, N, D)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    q = rows(q_ptr, q_base, q_step, m, M, D)
    do = rows(do_ptr, q_base, q_step, m, M, D)
    o = rows(o_ptr, q_base, q_step, m, M, D)
    delta = tl.sum(do.to(ACC) * o.to(ACC), axis=1)
    at = q_base // D + m * (q_step // D)
    tl.store(delta_ptr + at, delta, mask=m < M)
    lse = tl.load(lse_ptr + at, mask=m < M, other=0.0)
    dq = tl.zeros((BM, D), ACC)
    end = min(N, (tl.program_id(0) + 1) * BM) if CAUSAL else N
    if tl.program_id(0) * BM >= M:
        end = 0
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        k = rows(k_ptr, k_base, k_step, n, N, D)
        v = rows(v_ptr, k_base, k_step, n, N, D)
        _, ds = slopes(
            raw_scores(q, k, scale, ACC), lse, delta, do, v, head // H, head % H, m, n,
            M, N, CAUSAL, MASK, SCORE, SLOPE, ACC,
        )  # fmt: skip
        dq = product(ds.to(k.dtype), k, dq, ACC)
    put(dq_ptr, q_base, q_step, m, M, dq * scale, D)


@tegula.jit
def dkv_kernel(
    q_ptr, k_ptr, v_ptr, q_starts, k_starts, lse_ptr, do_ptr, delta_ptr, dk_ptr, dv_ptr,
    H, GROUP, M, N, scale,
    D: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr, SCORE: tl.constexpr,
    SLOPE: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(1)
    k_base, k_step, N = place(k_starts, kv, H // GROUP, N, D)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = rows(k_ptr, k_base, k_step, n, N, D)
    v = rows(v_ptr, k_base, k_step, n, N, D)
    dk = tl.zeros((BN, D), ACC)
    dv = tl.zeros((BN, D), ACC)
    first = tl.program_id(0) * BN // BM * BM if CAUSAL else 0
    for head in range(kv * GROUP, kv * GROUP + GROUP):
        q_base, q_step, length = place(q_starts, head, H, M, D)
        if tl.program_id(0) * BN >= N:
            length = 0
        for start in range(first, length, BM):
            m = start + tl.arange(0, BM)
            q = rows(q_ptr, q_base, q_step, m, length, D)
            do = rows(do_ptr, q_base, q_step, m, length, D)
            at = q_base // D + m * (q_step // D)
            lse = tl.load(lse_ptr + at, mask=m < length, other=0.0)
            delta = tl.load(delta_ptr + at, mask=m < length, other=0.0)
            p, ds = slopes(
                raw_scores(q, k, scale, ACC), lse, delta, do, v, head // H, head % H,
                m, n, length, N, CAUSAL, MASK, SCORE, SLOPE, ACC,
            )  # fmt: skip
            dv = product(tl.trans(p.to(do.dtype)), do, dv, ACC)
            dk = product(tl.trans(ds.to(q.dtype)), q, dk, ACC)
    put(dk_ptr, k_base, k_step, n, N, dk * scale, D)
    put(dv_ptr, k_base, k_step, n, N, dv, D)


# --- launches -----------------------------------------------------------------------------
# Functions by their names, which is how they pass through torch's graphs.
_FUNCTIONS: dict[str, Any] = {"": None}


def _options(q: Any, causal: bool, functions: str) -> dict[str, Any]:
    D, acc = q.shape[-1], arrays.accumulator(q)[0]
    mask, score, slope = (_FUNCTIONS[name] for name in functions.split("|"))
    wide = arrays.dtype_name(q) in ("float32", "float64") or D > 128
    BM, BN = (32, 32) if wide else (64, 64)
    return {
        "D": D, "CAUSAL": causal, "MASK": mask, "SCORE": score, "SLOPE": slope,
        "ACC": acc, "BM": BM, "BN": BN,
    }  # fmt: skip


def _sizes(q: Any, k: Any, q_starts: Any, max_q: int, max_k: int) -> tuple[int, ...]:
    """(sequences, H, Hk, M, N); M and N are those of the longest."""
    if q_starts is None:
        return q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2]
    return q_starts.shape[0] - 1, q.shape[1], k.shape[1], max_q, max_k


def outputs(q: Any, *_: Any) -> tuple:
    name = arrays.accumulator(q)[1]
    return arrays.empty(q, q.shape), arrays.empty(q, q.shape[:-1], name)


def run(
    outs: tuple, q: Any, k: Any, v: Any, q_starts: Any, k_starts: Any, max_q: int,
    max_k: int, causal: bool, scale: float, functions: str,
) -> None:  # fmt: skip
    B, H, Hk, M, N = _sizes(q, k, q_starts, max_q, max_k)
    q, k, v = (arrays.contiguous(a) for a in (q, k, v))
    options = _options(q, causal, functions)
    forward_kernel[(tegula.cdiv(M, options["BM"]), B * H)](
        q, k, v, q_starts, k_starts, *outs, H, H // Hk, M, N, scale, **options
    )


def backward_outputs(q: Any, k: Any, v: Any, *_: Any) -> tuple:
    return tuple(arrays.empty(a, a.shape) for a in (q, k, v))


def run_backward(
    outs: tuple, q: Any, k: Any, v: Any, o: Any, lse: Any, do: Any, q_starts: Any,
    k_starts: Any, max_q: int, max_k: int, causal: bool, scale: float, functions: str,
) -> None:  # fmt: skip
    B, H, Hk, M, N = _sizes(q, k, q_starts, max_q, max_k)
    q, k, v, do = (arrays.contiguous(a) for a in (q, k, v, do))
    dq, dk, dv = outs
    given = q, k, v, q_starts, k_starts
    sizes = H, H // Hk, M, N, scale
    delta = arrays.empty(lse, lse.shape)
    options = _options(q, causal, functions)
    dq_kernel[(tegula.cdiv(M, options["BM"]), B * H)](
        *given, o, lse, do, dq, delta, *sizes, **options
    )
    dkv_kernel[(tegula.cdiv(N, options["BN"]), B * Hk)](
        *given, lse, do, delta, dk, dv, *sizes, **options
    )


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    return _backward(*args[:3], *outs, grads[0], *args[3:])


_TAIL = (
    "Tensor? q_starts, Tensor? k_starts, int max_q, int max_k, bool causal, float scale"
)
_backward = arrays.Op(
    "attention_backward(Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor do,"
    f" {_TAIL}, str functions) -> (Tensor, Tensor, Tensor)",
    backward_outputs,
    run_backward,
)
_attention = arrays.Op(
    f"attention(Tensor q, Tensor k, Tensor v, {_TAIL}, str functions)"
    " -> (Tensor, Tensor)",
    outputs,
    run,
    gradient,
)


# --- what users call ----------------------------------------------------------------------
def _named(op: str, **functions: Any) -> str:
    names = []
    for word, f in functions.items():
        if f is not None and not isinstance(f, tegula.JITFunction):
            raise TypeError(f"{op}: {word} is a function under @jit, not {f!r}")
        name = "" if f is None else f"{f.__module__}.{f.__qualname__}:{id(f):x}"
        _FUNCTIONS[name] = f
        names.append(name)
    return "|".join(names)


def _scale(D: int, scale: float | None) -> float:
    return 1.0 / math.sqrt(D) if scale is None else float(scale)


def attention(
    q: Any,
    k: Any,
    v: Any,
    causal: bool = False,
    scale: float | None = None,
    mask: Any = None,
    score: Any = None,
    slope: Any = None,
) -> Any:
    """``softmax(q @ k.T * scale) @ v`` for each batch and head.

    Shapes: q [B, H, M, D], k and v [B, Hk, N, D] with H a multiple of Hk; as q. D <= 256.
    Types:  f16, bf16, f32, f64, the same for all; scores are f32 (f64 for f64).
    causal  row m sees the columns n <= m.
    scale   1 / sqrt(D) where None.

    As flex attention, by functions under ``@jit`` that are compiled in:

    mask    ``mask(batch, head, m, n)`` gives a bool for each pair: windows, documents,
            prefixes. A row that sees nothing is 0.
    score   ``score(s, batch, head, m, n)`` gives the score in the place of s, which is
            scaled: ALiBi, relative positions, soft caps.
    slope   ``slope(s, batch, head, m, n)``, the derivative of score by s; None where score
            adds something to s, so that it is 1.
    """
    arrays.check_arrays("attention", q=q, k=k, v=v)
    shapes = f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)}"
    if q.ndim != 4 or k.ndim != 4 or tuple(k.shape) != tuple(v.shape):
        raise ValueError(
            f"attention: {shapes}; expected [B, H, M, D] and [B, Hk, N, D]"
        )
    B, H, _, D = q.shape
    if k.shape[0] != B or k.shape[3] != D:
        raise ValueError(f"attention: {shapes}; B and D are those of q and of k")
    check_heads("attention", H, k.shape[1], D)
    functions = _named("attention", mask=mask, score=score, slope=slope)
    return _attention(
        q, k, v, None, None, 0, 0, bool(causal), _scale(D, scale), functions
    )[0]


def check_heads(op: str, heads: int, of_k: int, width: int) -> None:
    if not of_k or heads % of_k:
        raise ValueError(f"{op}: {heads} heads of q are no multiple of k's {of_k}")
    if not 1 <= width <= 256:
        raise ValueError(f"{op}: the last side, D, is 1 to 256, not {width}")


def attention_varlen(
    q: Any,
    k: Any,
    v: Any,
    q_starts: Any,
    k_starts: Any,
    max_q: int,
    max_k: int,
    causal: bool = False,
    scale: float | None = None,
    mask: Any = None,
    score: Any = None,
    slope: Any = None,
) -> Any:
    """Attention of sequences of many lengths that lie one after the other, unpadded.

    Shapes: q [T, H, D], k and v [S, Hk, D] with H a multiple of Hk; as q. D <= 256.
            q_starts and k_starts [sequences + 1], i32 or i64, as cu_seqlens elsewhere:
            sequence i is q[q_starts[i]:q_starts[i + 1]]. No sequence of q is longer than
            max_q, none of k longer than max_k: those are ints, not to wait for a GPU.
    The rest is as in ``attention``; m and n count within a sequence.
    """
    op = "attention_varlen"
    arrays.check_arrays(op, q=q, k=k, v=v)
    arrays.check_arrays(op, ("int32", "int64"), q_starts=q_starts, k_starts=k_starts)
    shapes = f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)}"
    if q.ndim != 3 or k.ndim != 3 or tuple(k.shape) != tuple(v.shape):
        raise ValueError(f"{op}: {shapes}; expected [T, H, D] and [S, Hk, D]")
    if k.shape[2] != q.shape[2]:
        raise ValueError(f"{op}: {shapes}; D is that of q and of k")
    check_heads(op, q.shape[1], k.shape[1], q.shape[2])
    if q_starts.ndim != 1 or q_starts.shape != k_starts.shape or not len(q_starts):
        raise ValueError(
            f"{op}: q_starts {list(q_starts.shape)} and k_starts "
            f"{list(k_starts.shape)}; expected [sequences + 1], both"
        )
    functions = _named(op, mask=mask, score=score, slope=slope)
    return _attention(
        q, k, v, arrays.contiguous(q_starts), arrays.contiguous(k_starts),
        int(max_q), int(max_k), bool(causal), _scale(q.shape[2], scale), functions,
    )[0]  # fmt: skip
