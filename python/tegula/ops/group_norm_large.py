"""Group norm of groups too large for one block: walked over in blocks, twice.

The second time what is read comes from the cache.
"""

from __future__ import annotations

import tegula
import tegula.language as tl


@tegula.jit
def large_forward_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, GROUPS, eps,
    C: tl.constexpr, S: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Every lane has a mean and a sum of squares of its own, by Welford's way."""
    row = tl.program_id(0).to(tl.int64)
    n: tl.constexpr = C * S
    lane = tl.arange(0, BLOCK)
    means = tl.zeros((BLOCK,), ACC)
    squares = tl.zeros((BLOCK,), ACC)
    seen = tl.full((), 1.0, ACC)
    for start in range(0, n, BLOCK):
        i = start + lane
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0).to(ACC)
        d = tl.where(i < n, x - means, 0.0)
        means += d * (1.0 / seen)
        squares += d * (x - means)
        seen += 1.0
    count = ((n - lane + BLOCK - 1) // BLOCK).to(ACC)
    mean = tl.sum(means * count, axis=0) / n
    apart = means - mean
    total = tl.sum(squares + count * apart * apart, axis=0)
    rstd = 1.0 / tl.sqrt(total / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n, BLOCK):
        i = start + lane
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0).to(ACC)
        y = (x - mean) * rstd
        c = row % GROUPS * C + i // S
        if w_ptr is not None:
            y = y * tl.load(w_ptr + c, mask=i < n, other=0.0).to(ACC)
        if b_ptr is not None:
            y = y + tl.load(b_ptr + c, mask=i < n, other=0.0).to(ACC)
        tl.store(y_ptr + row * n + i, y, mask=i < n)


@tegula.jit
def large_backward_kernel(
    x_ptr, w_ptr, mean_ptr, rstd_ptr, dy_ptr, dx_ptr, dw_ptr, db_ptr, GROUPS,
    C: tl.constexpr, S: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
    CB: tl.constexpr, SB: tl.constexpr,
):  # fmt: skip
    """The sums over a group are those over its channels, each times its weight."""
    row = tl.program_id(0).to(tl.int64)
    n: tl.constexpr = C * S
    rstd = tl.load(rstd_ptr + row)
    mean = tl.load(mean_ptr + row)
    along = tl.zeros((CB,), ACC)
    total = tl.zeros((CB,), ACC)
    for first in range(0, C, CB):
        c = first + tl.arange(0, CB)
        dws = tl.zeros((CB, SB), ACC)
        dbs = tl.zeros((CB, SB), ACC)
        for start in range(0, S, SB):
            j = start + tl.arange(0, SB)
            at = row * n + c[:, None] * S + j[None, :]
            mask = (c < C)[:, None] & (j < S)[None, :]
            x = tl.load(x_ptr + at, mask=mask, other=0.0).to(ACC)
            dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(ACC)
            dws += dy * ((x - mean) * rstd)
            dbs += dy
        dw, db = tl.sum(dws, axis=1), tl.sum(dbs, axis=1)
        tl.store(dw_ptr + row * C + c, dw, mask=c < C)
        tl.store(db_ptr + row * C + c, db, mask=c < C)
        if w_ptr is not None:
            w = tl.load(w_ptr + row % GROUPS * C + c, mask=c < C, other=0.0).to(ACC)
            dw, db = dw * w, db * w
        along += dw
        total += db
    slope = tl.sum(along, axis=0) / n
    shift = tl.sum(total, axis=0) / n
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0).to(ACC)
        g = tl.load(dy_ptr + row * n + i, mask=i < n, other=0.0).to(ACC)
        if w_ptr is not None:
            c = row % GROUPS * C + i // S
            g = g * tl.load(w_ptr + c, mask=i < n, other=0.0).to(ACC)
        dx = (g - (x - mean) * rstd * slope - shift) * rstd
        tl.store(dx_ptr + row * n + i, dx, mask=i < n)
