"""Loops of several products: each adds to a sum of its own, and is open until those of the
next iteration have begun, as one alone is."""

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
def several(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    COUNT: tl.constexpr, SHARED: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """COUNT products, of the same a where that is SHARED. With TURNS the second one's sum
    changes its sign in each iteration."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    A = 1 if SHARED else COUNT
    a = tl.make_tensor_descriptor(a_ptr, [A * M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [COUNT * K, N], [N, 1], [BK, BN])
    x = tl.zeros((BM, BN), tl.float32)
    y = tl.zeros((BM, BN), tl.float32)
    z = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rows = a.load([m, k])
        x = tl.dot(rows, b.load([k, n]), x)
        if not SHARED:
            rows = a.load([M + m, k])
        if TURNS:
            y = -y
        y = tl.dot(rows, b.load([K + k, n]), y)
        if COUNT > 2:
            if not SHARED:
                rows = a.load([2 * M + m, k])
            z = tl.dot(rows, b.load([2 * K + k, n]), z)
    i, j = m + tl.arange(0, BM), n + tl.arange(0, BN)
    at = c_ptr + i[:, None] * N + j[None, :]
    tl.store(at, x)
    tl.store(at + M * N, y)
    if COUNT > 2:
        tl.store(at + 2 * M * N, z)


def product(turns: int, count: int, shared: bool, by_turns: bool, **options):
    bm, bn, bk = 16 * options["num_warps"], 64, 64
    m, n, k = 2 * bm, bn, bk * turns
    a = whole_numbers(1, 1 if shared else count, m, k)
    b = whole_numbers(2, count, k, n)
    parts = (a.reshape(-1, m, turns, bk), b.reshape(count, turns, bk, n))
    each = np.einsum("cmtk,ctkn->ctmn", *(x.astype(np.float64) for x in parts))
    signs = np.ones((count, turns))
    if by_turns:
        signs[1] = (-1.0) ** np.arange(turns)[::-1]
    want = np.einsum("ctmn,ct->cmn", each, signs)
    there = [
        simulated.put(v, TARGET)
        for v in (a.reshape(-1, k), b.reshape(-1, n), np.full_like(want, np.nan, "f4"))
    ]
    compiled = several[(2, 1)](
        *there, m, n, k, bm, bn, bk, count, shared, by_turns, **options
    )
    np.testing.assert_array_equal(there[2].numpy(), want)
    return compiled


def has_all(compiled, words: str, n: int) -> bool:
    found = [s for s in str(compiled.report).splitlines() if "wgmma, " in s]
    return len(found) == n and all(s.endswith(words) for s in found)


@pytest.mark.parametrize("level", ["2,1", "3,2", "3"])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_all_stay_open(shared, count, warps, level):
    if not shared and (level == "2,1" or warps == 8):
        count = 2  # four slots of six tiles are too much
    for turns in (1, 2, 5):
        run = product(turns, count, shared, False, num_warps=warps, hopper=level)
        assert has_all(run, "open until the next iteration's has begun", count)
        assert ("level 3" in str(run.report)) == (level != "2,1")


@pytest.mark.parametrize("level", ["2,1", "3"])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_sum_that_is_used_is_waited_for(warps, level):
    for turns in (1, 2, 5):
        run = product(turns, 2, True, True, num_warps=warps, hopper=level)
        assert has_all(run, "waited for within the iteration", 2)


def test_one_ring_for_tiles_that_stay_open():
    """Of four tiles at most."""
    sides = ((2, True, 1), (3, True, 1), (2, False, 1), (3, False, 2))
    for count, shared, rings in sides:
        run = product(2, count, shared, False, num_warps=4, hopper="3,2")
        assert run.asm["simt"].count("ring_alloc") == rings


E5M2 = np.array([0, 60, 188, 64, 192], np.uint8)  # of VALUES
VALUES = np.array([0, 1, -1, 2, -2], np.float64)


@tegula.jit
def beside(
    q_ptr, k_ptr, v_ptr, p_ptr, c_ptr, total_ptr, steps, MADE: tl.constexpr
):  # fmt: skip
    """A sum whose left factor is in registers, beside a product that comes ahead of it: its
    left factor is made of that one's result where it is MADE."""
    float8 = tl.pointer_type(tl.float8e5)
    m, n, d = tl.arange(0, 64)[:, None], tl.arange(0, 32), tl.arange(0, 64)
    q = tl.load(q_ptr.to(float8) + m * 64 + d)
    v = tl.make_block_ptr(
        v_ptr.to(float8), (64, 128), (128, 1), (0, 0), (64, 32), (1, 0)
    )
    c = tl.zeros((64, 64), tl.float32)
    total = tl.zeros((64,), tl.float32)
    for t in range(steps):
        if MADE:  # K runs across memory, so this is no product of a warpgroup's
            k = tl.load(k_ptr.to(float8) + d[:, None] * 128 + t * 32 + n)
        else:
            k = tl.load(k_ptr.to(float8) + (t * 32 + n) * 64 + d[:, None])
        s = tl.dot(q, k)
        if MADE:
            p = tl.maximum(tl.minimum(s, 2), -2)
        else:
            p = tl.load(p_ptr.to(float8) + m * 128 + t * 32 + n).to(tl.float32)
        c = tl.dot(p.to(tl.float8e5), tl.load(v, boundary_check=(0, 1)).T, c)
        total += tl.sum(s, 1)
        v = tl.advance(v, (0, 32))
    tl.store(c_ptr + m * 64 + d, c)
    tl.store(total_ptr + d, total)


@pytest.mark.parametrize("made", [True, False])
def test_beside_a_product_that_is_not_waited_for(made):
    """The sum would be waited for with the product ahead, in the next iteration: that is
    another kind of product, which nobody waits for, or one whose wait comes later."""
    r, steps = np.random.default_rng(3), 4
    q, k, v, p = (
        r.integers(0, 5, s) for s in ((64, 64), (64, 128), (64, 128), (64, 128))
    )
    s = VALUES[q] @ VALUES[k]
    left = np.clip(s, -2, 2) if made else VALUES[p]
    factors = q, k if made else k.T, v, p
    there = [simulated.put(E5M2[x], TARGET) for x in factors]
    c, total = (simulated.put(np.full(s, np.nan, "f4"), TARGET) for s in ((64, 64), 64))
    compiled = beside[(1,)](*there, c, total, steps, made, num_warps=4)
    np.testing.assert_array_equal(c.numpy(), left @ VALUES[v].T)
    np.testing.assert_array_equal(total.numpy(), s.sum(1))
    assert "wgmma" in compiled.asm["ptx"]
