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


@tegula.jit
def many_sums(a_ptr, b_ptr, c_ptr, K):
    m, n, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 32)
    c = tl.zeros((256, 128), tl.float32)
    for i in range(0, K, 32):
        a = tl.load(a_ptr + m[:, None] * K + k[None, :] + i)
        c = tl.dot(a, tl.load(b_ptr + (k[:, None] + i) * 128 + n[None, :]), c)
    tl.store(c_ptr + m[:, None] * 128 + n[None, :], tl.log(c + 17.5))


def test_what_follows_many_sums_is_loops():
    """ptxas takes minutes for 512 logarithms a thread one after the other."""
    signature = ("*fp16:16", "*fp16:16", "*fp32:16", "i32:16")
    options = {"num_warps": 2, "abi": "plain"}  # two warps stay two
    code = many_sums.compile(*signature, target="cuda:sm_90a", **options)
    ptx = code.asm["ptx"]
    assert ptx.count("mma.sync") == 256 and ptx.count("fma.rn.f32") < 1500


def test_many_sums():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, (256, 64)).astype(np.float16)
    b = rng.integers(0, 2, (64, 128)).astype(np.float16)
    c = np.full((256, 128), np.nan, np.float32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        many_sums[(1,)](a, b, c, 64, num_warps=2)
    want = np.log(a.astype(np.float32) @ b.astype(np.float32) + 17.5)
    np.testing.assert_allclose(c, want, rtol=1e-5)
