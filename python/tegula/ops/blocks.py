"""Steps that kernels of attention share: rows of a sequence, products, online softmax."""

from __future__ import annotations

import tegula
import tegula.language as tl


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
def rows(ptr, at, i, D: tl.constexpr):
    """Rows i of the sequence at a place, zeros below the last."""
    i = i[:, None]
    offsets = at[0] + i.to(tl.int64) * at[1] + tl.arange(0, D)[None, :]
    return tl.load(ptr + offsets, mask=i < at[2], other=0.0)


@tegula.jit
def put(ptr, at, i, x, D: tl.constexpr):
    i = i[:, None]
    offsets = at[0] + i.to(tl.int64) * at[1] + tl.arange(0, D)[None, :]
    tl.store(ptr + offsets, x, mask=i < at[2])


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
