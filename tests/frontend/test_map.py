"""map_elementwise on every target."""

from __future__ import annotations

from typing import Any

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def order(x, y):
    if x < y:
        return -1
    if x == y:
        return 0
    else:
        return 1


@tegula.jit
def divmods(a0, a1, b0, b1):
    c0 = a0 // b0
    c1 = a1 // b1
    for k in tl.static_range(4):
        if c0 > 20 + k:
            break
        c0 = c0 + 1
    r = a1 % b1 if b1 > 3 else -a1
    return c0, c1, a0 % b0, r


@tegula.jit
def kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.map_elementwise(order, a, b))
    tl.store(out + N + i, tl.map_elementwise(order, a, 3))
    c, d = tl.map_elementwise(divmods, a, b, pack=2)
    tl.store(out + 2 * N + i, c)
    tl.store(out + 3 * N + i, d)


def test_map(run: Any) -> None:
    n = 64
    r = np.random.default_rng(0)
    x, y = r.integers(0, 90, n).astype(np.int32), r.integers(1, 9, n).astype(np.int32)
    x[:20] = y[:20] - (np.arange(20) % 3 - 1)
    out = np.zeros(4 * n, np.int32)
    run(kernel, x, y, out, N=n)
    c, d = x // y, x % y
    for i in range(0, n, 2):
        for k in range(4):
            if c[i] > 20 + k:
                break
            c[i] += 1
        if y[i + 1] <= 3:
            d[i + 1] = -x[i + 1]
    want = np.concatenate([np.sign(x - y), np.sign(x - 3), c, d])
    assert np.array_equal(out, want)
