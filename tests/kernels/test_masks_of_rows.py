"""What is computed of a row and a column, as decay is, lies as the block that it meets."""

from __future__ import annotations

import re

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")


@tegula.jit
def decayed(
    w_ptr, t_ptr, x_ptr, out_ptr, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TWICE: tl.constexpr = False,
):  # fmt: skip
    """out = (w * exp(min(t_m - t_k, 0)), where k <= m) @ x"""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    t = tl.load(t_ptr + m)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        w = tl.load(w_ptr + m[:, None] * K + at + k[None, :])
        decay = tl.exp(tl.minimum(t[:, None] - tl.load(t_ptr + at + k)[None, :], 0.0))
        w *= decay
        if TWICE:
            w += tl.sum(decay, 1)[:, None]
        w = tl.where(m[:, None] >= at + k[None, :], w, 0.0).to(tl.float16)
        x = tl.load(x_ptr + (at + k)[:, None] * BN + n[None, :])
        acc = tl.dot(w, x, acc)
    tl.store(out_ptr + m[:, None] * BN + n[None, :], acc)


SIZES = [(64, 64, 32, 4), (128, 64, 64, 8), (64, 32, 32, 2)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("bm, bn, bk, warps", SIZES)
def test_decay(bm, bn, bk, warps, target):
    k = 2 * bk
    rng = np.random.default_rng(bm + bk)
    w = rng.standard_normal((bm, k)).astype(np.float32)
    t = -np.cumsum(rng.random(max(bm, k))).astype(np.float32) / 8
    x = rng.standard_normal((k, bn)).astype(np.float16)
    out = simulated.put(np.full((bm, bn), np.nan, np.float32), target)
    there = [simulated.put(a, target) for a in (w, t, x)]
    decayed[(1,)](*there, out, k, BM=bm, BN=bn, BK=bk, num_warps=warps)
    decay = np.exp(np.minimum(t[:bm, None] - t[None, :k], 0))
    want = np.where(np.arange(bm)[:, None] >= np.arange(k), w * decay, 0) @ x
    np.testing.assert_allclose(out.numpy(), want, atol=0.02)


def in_loop(bm: int, bn: int, bk: int, warps: int, twice: bool = False) -> list[str]:
    """The types of what the loop moves between threads through shared memory."""
    c = decayed.compile(
        *["*fp32:16", "*fp32:16", "*fp16:16", "*fp32:16", "i32:16"],
        BM=bm, BN=bn, BK=bk, TWICE=twice, num_warps=warps, num_stages=3,
        target="cuda:sm_90a",
    )  # fmt: skip
    text = c.asm["simt"]
    loop = text[text.index("= for ") :]
    loop = loop[: loop.index("\n  }")]
    return re.findall(r"convert_layout %\S+ shared\(.*\) : (\w+)\[", loop)


@pytest.mark.parametrize("bm, bn, bk, warps", SIZES)
def test_decay_is_not_moved(bm, bn, bk, warps):
    assert in_loop(bm, bn, bk, warps) == ["f16"]  # the left operand


def test_what_is_used_twice_is_not_made_twice():
    """Exponentials are worth more than a move."""
    assert "f32" in in_loop(64, 64, 32, 4, twice=True)
