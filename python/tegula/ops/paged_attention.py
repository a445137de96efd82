"""Attention of one new token of each sequence to a cache that lies in pages.

The keys of a sequence are split among programs, because a batch of few sequences would
leave most of a GPU idle. Each program leaves a result over its share and the log-sum-exp of
its scores; a second kernel weighs the shares by those. The heads of q that share one head
of the cache are the rows of one product, so the cache is read once for all of them.
"""

from __future__ import annotations

import math
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays
from tegula.ops.attention import check_heads
from tegula.ops.blocks import absorb, finish

MIN_SHARE = 256  # keys of a program at the least, where there are as many
RUN = 32  # products of f32 in one chain of a score, whose rounding is most of the error


@tegula.jit
def split_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, part_ptr, lse_ptr, H, Hk, pages, scale,
    D: tl.constexpr, GROUP: tl.constexpr, PAGE: tl.constexpr, ACC: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, RUN: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    kv = tl.program_id(1)
    share, shares = tl.program_id(2), tl.num_programs(2)
    length = tl.load(lengths_ptr + b).to(tl.int32)
    each = tl.cdiv(tl.cdiv(length, shares), BN) * BN
    g = tl.arange(0, BM)
    d = tl.arange(0, D)
    j = tl.arange(0, RUN)
    row = b * H + kv * GROUP + g
    q = ()  # its columns in runs, negative: a difference of products is not one chain
    for first in tl.static_range(0, D, RUN):
        part = q_ptr + row[:, None] * D + first + j[None, :]
        q += (-tl.load(part, mask=g[:, None] < GROUP, other=0.0),)
    top = tl.full((BM,), -float("inf"), ACC)
    total = tl.zeros((BM,), ACC)
    acc = tl.zeros((BM, D), ACC)
    for start in range(share * each, min(length, share * each + each), BN):
        n = start + tl.arange(0, BN)
        page = tl.load(table_ptr + b * pages + n // PAGE, mask=n < length, other=0)
        at = ((page.to(tl.int64) * PAGE + n % PAGE) * Hk + kv)[:, None] * D
        keep = n[:, None] < length
        s = tl.zeros((BM, BN), ACC)
        for r in tl.static_range(D // RUN):
            k = tl.load(k_ptr + at + r * RUN + j[None, :], mask=keep, other=0.0)
            s -= tl.dot(q[r], tl.trans(k), out_dtype=ACC, input_precision="ieee")
        v = tl.load(v_ptr + at + d[None, :], mask=keep, other=0.0)
        s = tl.where((n < length)[None, :], s * scale, -float("inf"))
        top, total, acc = absorb(s, v, top, total, acc, ACC)
    o, lse = finish(top, total, acc)
    at = row * shares + share
    tl.store(part_ptr + at[:, None] * D + d[None, :], o, mask=g[:, None] < GROUP)
    lse = tl.where(total > 0.0, lse, -float("inf"))
    tl.store(lse_ptr + at, lse, mask=g < GROUP)


@tegula.jit
def combine_kernel(
    part_ptr, lse_ptr, o_ptr, shares, D: tl.constexpr, SHARES: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, SHARES)
    d = tl.arange(0, D)
    lse = tl.load(lse_ptr + row * shares + i, mask=i < shares, other=-float("inf"))
    top = tl.max(lse, axis=0)
    w = tl.exp(lse - tl.where(top == -float("inf"), 0.0, top))
    total = tl.sum(w, axis=0)
    at = (row * shares + i)[:, None] * D + d[None, :]
    part = tl.load(part_ptr + at, mask=(i < shares)[:, None], other=0.0)
    o = tl.sum(part * w[:, None], axis=0) / tl.where(total > 0.0, total, 1.0)
    tl.store(o_ptr + row * D + d, o)


def _shares(q: Any, heads: int, keys: int) -> int:
    """Programs for each sequence and head of the cache: enough to fill the machine."""
    programs = arrays.n_resident(q, 2) if arrays.is_on_gpu(q) else 8
    most = max(1, tegula.cdiv(keys, MIN_SHARE))
    return max(1, min(most, 128, tegula.cdiv(programs, q.shape[0] * heads)))


def run(
    outs: tuple, q: Any, k: Any, v: Any, table: Any, lengths: Any, scale: float
) -> None:
    q, k, v, table, lengths = map(arrays.contiguous, (q, k, v, table, lengths))
    (B, H, D), (_, page, Hk, _), pages = q.shape, k.shape, table.shape[1]
    if not arrays.size(q):
        return
    n = _shares(q, Hk, pages * page)
    acc, name = arrays.accumulator(q)
    part = arrays.empty(q, (B, H, n, D), name)
    lse = arrays.empty(q, (B, H, n), name)
    group = H // Hk
    split_kernel[(B, Hk, n)](
        q, k, v, table, lengths, part, lse, H, Hk, pages, scale, D=D, GROUP=group,
        PAGE=page, ACC=acc, BM=max(16, tegula.next_power_of_2(group)),
        BN=32 if name == "float64" else 64,
        RUN=RUN if arrays.dtype_name(q) == "float32" and D % RUN == 0 else D,
    )  # fmt: skip
    shares = tegula.next_power_of_2(n)
    combine_kernel[(B * H,)](part, lse, *outs, n, D=D, SHARES=shares)


_paged = arrays.Op(
    "paged_attention(Tensor q, Tensor k_cache, Tensor v_cache, Tensor table,"
    " Tensor lengths, float scale) -> Tensor",
    lambda q, *_: (arrays.empty(q, q.shape),),
    run,
)


def paged_attention(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    table: Any,
    lengths: Any,
    scale: float | None = None,
) -> Any:
    """Attention of one token of each sequence to all its keys, which lie in pages.

    Shapes: q [B, H, D], as the result; the caches [pages, page, Hk, D] with H a multiple of
            Hk and D <= 256; table [B, n] has the pages of each sequence in their order;
            lengths [B], how many keys each sequence has; a sequence of none gives 0.
    Types:  f16, bf16, f32, f64, the same for q and caches; table and lengths i32 or i64.
    No gradient: this is for inference, and asking for one is an error.
    """
    op = "paged_attention"
    arrays.check_arrays(op, q=q, k_cache=k_cache, v_cache=v_cache)
    arrays.check_arrays(op, ("int32", "int64"), table=table, lengths=lengths)
    arrays.check_no_gradient(op, q, k_cache, v_cache)
    shapes = f"q {list(q.shape)}, caches {list(k_cache.shape)}, {list(v_cache.shape)}"
    if q.ndim != 3 or k_cache.ndim != 4 or k_cache.shape != v_cache.shape:
        raise ValueError(f"{op}: {shapes}; expected [B, H, D] and [pages, page, Hk, D]")
    (B, H, D), (_, page, Hk, width) = q.shape, k_cache.shape
    if width != D or not page:
        raise ValueError(f"{op}: {shapes}; D is that of q and of the caches")
    check_heads(op, H, Hk, D)
    if table.ndim != 2 or table.shape[0] != B or tuple(lengths.shape) != (B,):
        raise ValueError(
            f"{op}: table {list(table.shape)} and lengths {list(lengths.shape)}; "
            f"expected [{B}, pages] and [{B}]"
        )
    scale = 1.0 / math.sqrt(D) if scale is None else float(scale)
    return _paged(q, k_cache, v_cache, table, lengths, scale)[0]
