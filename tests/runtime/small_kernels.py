"""A kernel that compiles and one that does not: for tests of what a compile leaves."""

from __future__ import annotations

import tegula
import tegula.language as tl


@tegula.jit
def sample(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.load(x + i, mask=i < n, other=0.0)
    for k in range(n):
        if k > 3:
            acc += 1
    tl.store(y + i, tl.sort(acc), mask=i < n)


@tegula.jit
def broken(x, n):
    for k in range(3):
        tl.store(x, sample.nothing, other=[n, (n, 1), f"{k}"])
