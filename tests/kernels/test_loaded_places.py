"""Blocks whose place, or end, is read from memory: sequences behind one another, pages,
blocks of a sparse mask. Warps of their own bring them by tensor maps, which count rows from
far in front of the tensor, as nobody knows the sign of what is loaded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import simulated
from test_promoted_attention import softmax_step

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
D, BM, BN = 64, 128, 64


def put(x: np.ndarray) -> Any:
    return simulated.put(np.ascontiguousarray(x), TARGET)


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.integers(-2, 3, shape) / 4).astype(np.float16)


def softmax_of(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.T
    p = np.exp2(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


def by_roles(run: Any, n_maps: int) -> bool:
    text = run.asm["tir"]
    return "roles {" in run.asm["simt"] and text.count("= map_load ") == n_maps


@tegula.jit
def ragged(
    q_ptr, k_ptr, v_ptr, o_ptr, starts, row, D: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr,
):  # fmt: skip
    """Attention within sequences that lie behind one another: starts[z], starts[z + 1]."""
    block, z = tl.program_id(0), tl.program_id(1)
    first = tl.load(starts + z)
    n = tl.load(starts + z + 1) - first
    if block * BM < n:
        m, j, d = block * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
        q = tl.load(q_ptr + (first + m)[:, None] * row + d[None, :],
                    mask=m[:, None] < n, other=0.0)  # fmt: skip
        peak = tl.full((BM,), -float("inf"), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        for at in range(0, n, BN):
            rows = at + j < n
            where = (first + at + j)[:, None] * row + d[None, :]
            k = tl.load(k_ptr + where, mask=rows[:, None], other=0.0)
            v = tl.load(v_ptr + where, mask=rows[:, None], other=0.0)
            s = tl.where(rows[None, :], tl.dot(q, k.T), -float("inf"))
            peak, total, acc = softmax_step(s, peak, total, acc, v)
        tl.store(o_ptr + (first + m)[:, None] * row + d[None, :],
                 acc / total[:, None], mask=m[:, None] < n)  # fmt: skip


@pytest.mark.parametrize("row", [64, 192])
def test_sequences_behind_one_another(row: int, rng: np.random.Generator) -> None:
    lengths = [1, 200, 0, 63, 130]
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    rows = int(starts[-1])
    q, k, v = (draw(rng, rows, row) for _ in range(3))
    k[:, D:], v[:, D:] = np.nan, np.nan
    o = put(np.full((rows, row), -1, np.float16))
    run = ragged[(2, len(lengths))](
        *map(put, (q, k, v)), o, put(starts), row, D, BM, BN, num_warps=8
    )
    assert by_roles(run, 3), run.report
    for a, b in (x for x in pairwise(starts) if x[0] < x[1]):
        got = o.numpy()[a:b, :D]
        np.testing.assert_allclose(
            got, softmax_of(q[a:b, :D], k[a:b, :D], v[a:b, :D]), atol=2e-3
        )
    assert (o.numpy()[:, D:] == -1).all()


@tegula.jit
def paged(
    q_ptr, k_ptr, v_ptr, o_ptr, pages, n_pages, D: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Keys lie in pages of BN rows; a page in front of the cache has a negative number."""
    m, j, d = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    z = tl.program_id(0)
    q = tl.load(q_ptr + z * BM * D + m[:, None] * D + d[None, :])
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for i in range(n_pages):
        page = tl.load(pages + z * n_pages + i)
        if WIDE:
            page = page.to(tl.int64)
        where = (page * BN + j)[:, None] * D + d[None, :]
        k = tl.load(k_ptr + where)
        v = tl.load(v_ptr + where)
        peak, total, acc = softmax_step(tl.dot(q, k.T), peak, total, acc, v)
    tl.store(o_ptr + z * BM * D + m[:, None] * D + d[None, :], acc / total[:, None])


@pytest.mark.parametrize("wide", [False, True])
def test_pages(wide: bool, rng: np.random.Generator) -> None:
    in_front, n = 2, 6
    q, k, v = (draw(rng, n, *s) for s in ((BM, D), (BN, D), (BN, D)))
    pages = np.array([[3, -2, 0], [-1, 2, 1]], np.int32)
    cache = [put(x.reshape(-1, D)) for x in (k, v)]
    middle = [simulated.Tensor(x.numpy()[in_front * BN :], TARGET, x) for x in cache]
    o = put(np.full((2, BM, D), np.nan, np.float16))
    run = paged[(2,)](
        put(q[:2]), *middle, o, put(pages), 3, D, BM, BN, wide, num_warps=8
    )
    assert by_roles(run, 3), run.report
    for z in range(2):
        keys = [x[pages[z] + in_front].reshape(-1, D) for x in (k, v)]
        np.testing.assert_allclose(o.numpy()[z], softmax_of(q[z], *keys), atol=2e-3)


@tegula.jit
def sparse(a_ptr, b_ptr, c_ptr, where, n_ptr, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, SIDE: tl.constexpr):  # fmt: skip
    """A row of blocks of a: how many there are, and which, is loaded for each program."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    z = tl.program_id(0)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.load(n_ptr + z)):
        at = tl.load(where + z * SIDE + i) * BK
        a = tl.load(a_ptr + (z * BM + m)[:, None] * (SIDE * BK) + (at + k)[None, :])
        b = tl.load(b_ptr + (at + k)[:, None] * BN + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + (z * BM + m)[:, None] * BN + n[None, :], acc)


def test_blocks_of_a_sparse_mask(rng: np.random.Generator) -> None:
    """Columns are no rows: where one is loaded, its sign is not known, and a stays."""
    BK, SIDE, BN = 64, 4, 64
    a, b = draw(rng, 2 * BM, SIDE * BK), draw(rng, SIDE * BK, BN)
    where = np.array([[2, 0, 3, 9], [1, 9, 9, 9]], np.int32)
    counts = np.array([3, 1], np.int32)
    c = put(np.full((2 * BM, BN), np.nan, np.float32))
    run = sparse[(2,)](
        put(a), put(b), c, put(where), put(counts), BM, BN, BK, SIDE, num_warps=8
    )
    assert "an index may be negative" in str(run.report)
    wide = [x.astype(np.float32) for x in (a, b)]
    for z in range(2):
        picked = [slice(BK * w, BK * w + BK) for w in where[z][: counts[z]]]
        rows = slice(z * BM, z * BM + BM)
        want = sum(wide[0][rows, p] @ wide[1][p] for p in picked)
        np.testing.assert_array_equal(c.numpy()[rows], want)


def test_what_the_kernel_writes_is_loaded_in_its_order(
    rng: np.random.Generator,
) -> None:
    """A place that the kernel itself may store is nothing that other warps load ahead."""

    @tegula.jit
    def counted(q_ptr, k_ptr, v_ptr, o_ptr, pages, n_pages, D: tl.constexpr,
                BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
        tl.store(pages, 1)
        paged(q_ptr, k_ptr, v_ptr, o_ptr, pages, n_pages, D, BM, BN, False)

    q, k, v = draw(rng, BM, D), draw(rng, 2 * BN, D), draw(rng, 2 * BN, D)
    o, pages = put(np.full((BM, D), np.nan, np.float16)), put(np.zeros(1, np.int32))
    run = counted[(1,)](*map(put, (q, k, v)), o, pages, 1, D, BM, BN, num_warps=8)
    assert "roles {" not in run.asm["simt"]
    np.testing.assert_allclose(o.numpy(), softmax_of(q, k[BN:], v[BN:]), atol=2e-3)


@tegula.jit
def some_rows(a_ptr, b_ptr, c_ptr, first_ptr, K, row, BM: tl.constexpr,
              BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    rows = tl.load(first_ptr) + m
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * row + (at + k)[None, :],
                    mask=(at + k)[None, :] < K, other=0.0)  # fmt: skip
        b = tl.load(b_ptr + (at + k)[:, None] * BN + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)


def test_rows_that_are_short(rng: np.random.Generator) -> None:
    """2^30 rows of 80 bytes fit a memory. Code without maps asks more of a launch, here
    of K, than code with them: what one launch got is not for all."""
    row, first = 40, 3
    a, b = draw(rng, BM + first, row), draw(rng, 64, BN)
    a[first - 1] = np.nan
    for K in (32, 27, 40, 39):
        c = put(np.full((BM, BN), np.nan, np.float32))
        run = some_rows[(1,)](
            put(a), put(b), c, put(np.array([first], np.int32)), K, row, BM, BN, 64,
            num_warps=8,
        )  # fmt: skip
        assert by_roles(run, 2), run.report
        want = a[first:, :K].astype(np.float32) @ b[:K].astype(np.float32)
        np.testing.assert_array_equal(c.numpy(), want)
