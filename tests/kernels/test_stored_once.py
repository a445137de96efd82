"""Blocks that several products read, and threads too: each lies in shared memory once."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
from test_roles import whole_numbers

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def both_ways(x_ptr, y_ptr, o_ptr, N: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * N + tl.arange(0, N)
    at = r[:, None] * D + tl.arange(0, D)[None, :]
    n = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    s = tl.dot(x, tl.trans(y))
    s = tl.where(n[:, None] >= n[None, :], s, 0).to(x.dtype)
    o = tl.dot(tl.trans(s), x) * y
    o += tl.dot(s, y)
    tl.store(o_ptr + at, o)


def both_ways_of(x, y):
    s = np.tril(x @ y.T)
    return (s.T @ x) * y + s @ y


@tegula.jit
def in_a_loop(
    x_ptr, y_ptr, o_ptr, T, N: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr
):
    at = tl.arange(0, N)[:, None] * D + tl.arange(0, D)[None, :]
    state = tl.zeros((D, D), tl.float32)
    for t in tl.range(0, T, N, num_stages=STAGES):
        x = tl.load(x_ptr + t * D + at)
        y = tl.load(y_ptr + t * D + at)
        s = tl.dot(x, tl.trans(y)).to(x.dtype)
        o = tl.dot(s, y) + tl.dot(x, state.to(x.dtype)) + x
        state += tl.dot(tl.trans(x), y)
        tl.store(o_ptr + t * D + at, o)


def in_a_loop_of(x, y, n):
    state, out = np.zeros((x.shape[1], x.shape[1])), []
    for t in range(0, len(x), n):
        a, b = x[t : t + n], y[t : t + n]
        out.append(a @ b.T @ b + a @ state + a)
        state += a.T @ b
    return np.concatenate(out)


@tegula.jit
def of_words(
    x_ptr, y_ptr, o_ptr, N: tl.constexpr, D: tl.constexpr, AGAIN: tl.constexpr
):
    at = tl.arange(0, N)[:, None] * D + tl.arange(0, D)[None, :]
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    s = tl.dot(x, tl.trans(y))
    o = tl.dot(s, y)
    o += tl.dot(s, x)
    if AGAIN:
        o += tl.dot(s + s, y)
    tl.store(o_ptr + at, o)


@tegula.jit
def taken_away(x_ptr, w_ptr, o_ptr, STEPS, N: tl.constexpr, D: tl.constexpr):
    at = tl.arange(0, N)[:, None] * D + tl.arange(0, D)[None, :]
    w_at = tl.arange(0, D)[:, None] * D + tl.arange(0, D)[None, :]
    x = tl.load(x_ptr + at).to(tl.float32)
    for i in range(STEPS):
        w = tl.load(w_ptr + i * D * D + w_at)
        x -= tl.dot(x.to(w.dtype), w)
    tl.store(o_ptr + at, x)


def signs(seed, *shape):
    """Few numbers are not zero, so sums of sums of products are exact in f16."""
    rng = np.random.default_rng(seed)
    return (whole_numbers(seed, *shape) * (rng.random(shape) < 0.1)).clip(-1, 1)


def loops(simt):
    return simt.split(" = for ")[1].split("\n  }")[0]


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("n,d", [(64, 64), (64, 128), (128, 64)])
def test_a_transposition_reads_the_same_bytes(warps, n, d):
    x, y = signs(1, 2 * n, d), signs(2, 2 * n, d)
    o = simulated.put(np.full((2 * n, d), np.nan, np.float32), TARGET)
    there = [simulated.put(a.astype(np.float16), TARGET) for a in (x, y)]
    c = both_ways[(2,)](*there, o, N=n, D=d, num_warps=warps)
    want = [both_ways_of(*(a.astype(float)[i : i + n] for a in (x, y))) for i in (0, n)]
    np.testing.assert_array_equal(o.numpy(), np.concatenate(want))
    simt = c.asm["simt"]
    assert simt.count("shared_store %") == 2
    assert simt.count("shared_load %") == 1  # what y is as a factor


def test_loads_of_a_product_are_on_their_way_together():
    c = both_ways.compile(
        "*fp16:16",
        "*fp16:16",
        "*fp32:16",
        N=64,
        D=64,
        num_warps=4,
        target="cuda:sm_90a",
    )
    before, _, behind = c.asm["simt"].partition("shared_store")
    assert before.count(" = load ") == 2
    assert "barrier" not in before
    assert behind.split("mma_start")[0].count("barrier") == 1


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("hopper", ["2,0", "2,1", "3"])
def test_in_a_loop(stages, hopper):
    n, d, t = 64, 64, 256
    x, y = signs(3, t, d), signs(4, t, d)
    o = simulated.put(np.full((t, d), np.nan, np.float32), TARGET)
    there = [simulated.put(a.astype(np.float16), TARGET) for a in (x, y)]
    in_a_loop[(1,)](*there, o, t, N=n, D=d, STAGES=stages, num_warps=4, hopper=hopper)
    np.testing.assert_array_equal(
        o.numpy(), in_a_loop_of(x.astype(float), y.astype(float), n)
    )


@pytest.mark.parametrize("again", [True, False])
def test_operands_of_warps_that_would_spill(again):
    """64 x 128 words are 256 of each thread, and live while others are multiplied."""
    n, d = 64, 128
    x, y = signs(5, n, d).astype(np.float32), signs(6, n, d).astype(np.float32)
    o = simulated.put(np.full((n, d), np.nan, np.float32), TARGET)
    there = [simulated.put(a, TARGET) for a in (x, y)]
    c = of_words[(1,)](*there, o, N=n, D=d, AGAIN=again, num_warps=4, hopper="1")
    s = x.astype(float) @ y.T
    np.testing.assert_array_equal(o.numpy(), (1 + 2 * again) * (s @ y) + s @ x)
    assert ("shared_load" in c.asm["simt"]) == again


@pytest.mark.parametrize("warps", [4, 8])
def test_what_a_loop_carries_lies_as_the_sums_do(warps):
    n, d, steps = 16 * warps, 64, 3
    x = signs(7, n, d)
    w = np.stack([signs(8 + i, d, d) for i in range(steps)])
    o = simulated.put(np.full((n, d), np.nan, np.float32), TARGET)
    there = [simulated.put(a.astype(np.float16), TARGET) for a in (x, w)]
    c = taken_away[(1,)](*there, o, steps, N=n, D=d, num_warps=warps)
    want = x.astype(float)
    for m in w.astype(float):
        want = want - want @ m
    assert abs(want).max() <= 2048
    np.testing.assert_array_equal(o.numpy(), want)
    assert "convert_layout" not in loops(c.asm["simt"])
