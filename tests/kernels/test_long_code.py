"""Kernels with very much code: compiled without LLVM's optimisations, and right."""

from __future__ import annotations

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def many_copies(x, y, COPIES: tl.constexpr):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    for j in tl.static_range(COPIES):
        a = tl.where(a > 100, a - 100, a + tl.load(y + j + i))
    tl.store(x + i, a)


def test_many_copies_of_a_loop():
    copies = 1500
    y = np.random.default_rng(0).integers(0, 90, copies + 128).astype(np.float32)
    want, x = np.zeros(128, np.float32), np.zeros(128, np.float32)
    for j in range(copies):
        want = np.where(want > 100, want - 100, want + y[j : j + 128])
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = ""
        c = many_copies[(1,)](x, y, copies)
    np.testing.assert_array_equal(x, want)
    x[:] = 0
    c[(1,)](x, y, copies)
    np.testing.assert_array_equal(x, want)
