"""Attention without the matrix of scores: online softmax forward, scores again backward.

    S = f(q k^T * scale),  P = softmax(S),  o = P v

Backward has P from the kept log-sum-exp of the rows of S, and

    dv = P^T do,  dS = P * (do v^T - rowsum(o * do)) * f',  dq = dS k * scale,
    dk = dS^T q * scale

Heads of q share heads of k and v in groups (GQA). The sequences of a batch lie side by side
[B, H, T, D], or one after the other [T, H, D] with the places where they begin: `place` is
all that tells the two apart. Mask, score (f) and slope (f') are functions of the language,
inlined into all three kernels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tegula
import tegula.language as tl
from tegula.ops import arrays
from tegula.ops.blocks import absorb, finish, place, product, put, rows


class Rules(NamedTuple):
    """What is compiled in: which pairs count, f and f', types of sums, sides of blocks."""

    causal: bool
    mask: Any
    score: Any
    slope: Any
    acc: Any
    rows: int
    columns: int


# --- the kernels --------------------------------------------------------------------------
@tegula.jit
def begin(q_starts, k_starts, H, GROUP, M, N, D: tl.constexpr, R: tl.constexpr):
    """(head, places of q and k, rows of q, end of the columns they see) of a program."""
    head = tl.program_id(1)
    at_q = place(q_starts, head, H, M, D)
    at_k = place(k_starts, head // GROUP, H // GROUP, N, D)
    m = tl.program_id(0) * R.rows + tl.arange(0, R.rows)
    end = min(at_k[2], (tl.program_id(0) + 1) * R.rows) if R.causal else at_k[2]
    if tl.program_id(0) * R.rows >= at_q[2]:  # of a sequence shorter than the longest
        end = 0
    return head, at_q, at_k, m, end


@tegula.jit
def scores(q, k, scale, b, h, m, n, M, N, R: tl.constexpr):
    """(q k^T * scale, the scores as far as they count, else -inf)."""
    raw = tl.dot(q, tl.trans(k), out_dtype=R.acc, input_precision="ieee") * scale
    s = raw
    if R.score is not None:
        s = R.score(s, b, h, m[:, None], n[None, :]).to(R.acc)
    keep = (m[:, None] < M) & (n[None, :] < N)
    if R.causal:
        keep = keep & (m[:, None] >= n[None, :])
    if R.mask is not None:
        keep = keep & R.mask(b, h, m[:, None], n[None, :])
    return raw, tl.where(keep, s, -float("inf"))


@tegula.jit
def slopes(q, k, v, do, lse, delta, scale, b, h, m, n, M, N, R: tl.constexpr):
    """(P, dS) of a block."""
    raw, s = scores(q, k, scale, b, h, m, n, M, N, R)
    p = tl.exp(s - lse[:, None])
    dp = tl.dot(do, tl.trans(v), out_dtype=R.acc, input_precision="ieee")
    ds = p * (dp - delta[:, None])
    if R.slope is not None:
        ds = ds * R.slope(raw, b, h, m[:, None], n[None, :]).to(R.acc)
    return p, ds


@tegula.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, q_starts, k_starts, o_ptr, lse_ptr, H, GROUP, M, N, scale,
    D: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    head, at_q, at_k, m, end = begin(q_starts, k_starts, H, GROUP, M, N, D, R)
    q = rows(q_ptr, at_q, m, D)
    top = tl.full((R.rows,), -float("inf"), R.acc)
    total = tl.zeros((R.rows,), R.acc)
    acc = tl.zeros((R.rows, D), R.acc)
    for start in range(0, end, R.columns):
        n = start + tl.arange(0, R.columns)
        k = rows(k_ptr, at_k, n, D)
        _, s = scores(q, k, scale, head // H, head % H, m, n, at_q[2], at_k[2], R)
        top, total, acc = absorb(s, rows(v_ptr, at_k, n, D), top, total, acc, R.acc)
    o, lse = finish(top, total, acc)
    put(o_ptr, at_q, m, o, D)
    tl.store(lse_ptr + at_q[0] // D + m * (at_q[1] // D), lse, mask=m < at_q[2])


@tegula.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, q_starts, k_starts, o_ptr, lse_ptr, do_ptr, dq_ptr, delta_ptr,
    H, GROUP, M, N, scale, D: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    head, at_q, at_k, m, end = begin(q_starts, k_starts, H, GROUP, M, N, D, R)
    b, h, M, N = head // H, head % H, at_q[2], at_k[2]
    q = rows(q_ptr, at_q, m, D)
    do = rows(do_ptr, at_q, m, D)
    delta = tl.sum(do.to(R.acc) * rows(o_ptr, at_q, m, D).to(R.acc), axis=1)
    at = at_q[0] // D + m * (at_q[1] // D)
    tl.store(delta_ptr + at, delta, mask=m < M)
    lse = tl.load(lse_ptr + at, mask=m < M, other=0.0)
    dq = tl.zeros((R.rows, D), R.acc)
    for start in range(0, end, R.columns):
        n = start + tl.arange(0, R.columns)
        k = rows(k_ptr, at_k, n, D)
        v = rows(v_ptr, at_k, n, D)
        _, ds = slopes(q, k, v, do, lse, delta, scale, b, h, m, n, M, N, R)
        dq = product(ds.to(k.dtype), k, dq, R.acc)
    put(dq_ptr, at_q, m, dq * scale, D)


@tegula.jit
def dkv_kernel(
    q_ptr, k_ptr, v_ptr, q_starts, k_starts, lse_ptr, do_ptr, delta_ptr, dk_ptr, dv_ptr,
    H, GROUP, M, N, scale, D: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    kv = tl.program_id(1)
    at_k = place(k_starts, kv, H // GROUP, N, D)
    n = tl.program_id(0) * R.columns + tl.arange(0, R.columns)
    k = rows(k_ptr, at_k, n, D)
    v = rows(v_ptr, at_k, n, D)
    dk = tl.zeros((R.columns, D), R.acc)
    dv = tl.zeros((R.columns, D), R.acc)
    first = tl.program_id(0) * R.columns // R.rows * R.rows if R.causal else 0
    for head in range(kv * GROUP, kv * GROUP + GROUP):
        base, step, length = place(q_starts, head, H, M, D)
        if tl.program_id(0) * R.columns >= at_k[2]:
            length = 0
        for start in range(first, length, R.rows):
            m = start + tl.arange(0, R.rows)
            q = rows(q_ptr, (base, step, length), m, D)
            do = rows(do_ptr, (base, step, length), m, D)
            at = base // D + m * (step // D)
            lse = tl.load(lse_ptr + at, mask=m < length, other=0.0)
            delta = tl.load(delta_ptr + at, mask=m < length, other=0.0)
            p, ds = slopes(
                q, k, v, do, lse, delta, scale, head // H, head % H, m, n, length,
                at_k[2], R,
            )  # fmt: skip
            dv = product(tl.trans(p.to(do.dtype)), do, dv, R.acc)
            dk = product(tl.trans(ds.to(q.dtype)), q, dk, R.acc)
    put(dk_ptr, at_k, n, dk * scale, D)
    put(dv_ptr, at_k, n, dv, D)


# --- launches -----------------------------------------------------------------------------
# Functions by their names, which is how they pass through torch's graphs.
_FUNCTIONS: dict[str, Any] = {"": None}


def _options(q: Any, causal: bool, functions: str) -> dict[str, Any]:
    D, acc = q.shape[-1], arrays.accumulator(q)[0]
    mask, score, slope = (_FUNCTIONS[name] for name in functions.split("|"))
    wide = arrays.dtype_name(q) in ("float32", "float64") or D > 128
    side = 32 if wide else 64
    return {"D": D, "R": Rules(causal, mask, score, slope, acc, side, side)}


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
    forward_kernel[(tegula.cdiv(M, options["R"].rows), B * H)](
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
    dq_kernel[(tegula.cdiv(M, options["R"].rows), B * H)](
        *given, o, lse, do, dq, delta, *sizes, **options
    )
    dkv_kernel[(tegula.cdiv(N, options["R"].columns), B * Hk)](
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
