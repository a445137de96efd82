"""Long sorts: networks a library writes out itself, as long as code for a thread may get,
and those of the language on CPUs.

The former: pairs of a key and where it stood, in blocks of 2 x 2 x ..., 64 of them
a thread.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs


@tegula.jit
def partner(x, rank: tl.constexpr, i: tl.constexpr):
    return x ^ tl.xor_sum(x, rank - 1 - i, True)


@tegula.jit
def rounds(x, at, rank: tl.constexpr, stage: tl.constexpr):
    right_of = tl.arange(0, 2)
    for k in tl.static_range(stage):
        i: tl.constexpr = stage - 1 - k
        right = tl.reshape(right_of, [1] * (rank - i - 1) + [2] + [1] * i)
        y, at_y = partner(x, rank, i), partner(at, rank, i)
        swap = (x > y) != (right != 0)
        x, at = tl.where(swap, y, x), tl.where(swap, at_y, at)
    return x, at


@tegula.jit
def network(x, out, RANK: tl.constexpr, PASSES: tl.constexpr):
    i = tl.arange(0, 1 << RANK)
    v = tl.reshape(tl.load(x + i), [2] * RANK)
    at = tl.reshape(i, [2] * RANK)
    for _ in tl.static_range(PASSES):
        v, at = rounds(v, at, RANK, RANK)
    tl.store(out + i, tl.reshape(at, [1 << RANK]))


def test_network_of_one_warp_is_taken():
    # 40 passes count for 380,000 instructions: a top-k of 2048 by one warp has as many.
    types = ("*i32:16", "*i32:16")
    target = "cuda:sm_90a"
    with knobs.nvidia.scope():
        knobs.nvidia.ptxas = "none"  # which takes a minute
        made = network.compile(*types, RANK=11, PASSES=40, num_warps=1, target=target)
    assert ".entry network" in made.asm["ptx"]


@tegula.jit
def sorts(
    x, out, best, merged, R: tl.constexpr, N: tl.constexpr, K: tl.constexpr, down
):
    i = tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.store(out + i, tl.sort(v, descending=down))
    k = tl.arange(0, R)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(best + k, tl.topk(v, K, descending=down))
    half = tl.arange(0, N)[None, :] < N // 2
    hill = tl.where(half, i % N * 2, 2 * N - 1 - i % N * 2)
    tl.store(merged + i, tl.bitonic_merge(hill, descending=down))


@pytest.mark.parametrize("down", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16"])
@pytest.mark.parametrize(
    ("rows", "n", "k"),
    [
        (1, 64, 4),
        (1, 128, 32),
        (64, 2, 1),
        (16, 4, 2),
        (8, 16, 16),
        (2, 512, 64),
        (4, 256, 2),
    ],
)
def test_blocks_of_rows_are_sorted(rows, n, k, dtype, down):
    rng = np.random.default_rng(n * rows)
    x = rng.integers(-100, 100, (rows, n)).astype(dtype)
    out, best = np.empty_like(x), np.empty((rows, k), dtype)
    merged = np.empty((rows, n), np.int32)
    with knobs.runtime.scope():
        knobs.runtime.target = "cpu"
        sorts[(1,)](x, out, best, merged, R=rows, N=n, K=k, down=tl.constexpr(down))
    want = np.sort(x, axis=1)[:, :: -1 if down else 1]
    assert (out == want).all()
    assert (best == want[:, :k]).all()
    assert (merged == np.arange(n)[:: -1 if down else 1]).all()


@tegula.jit
def sort_row(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.sort(tl.load(x + i)))


def test_no_step_on_a_cpu_is_of_single_elements():
    """Steps are of vectors, and rows beyond those that registers hold have one code."""
    counts = set()
    for n in 1024, 4096:
        made = sort_row.compile("*i32", "*i32", N=n, target="cpu")
        least = re.findall(r"call <(\d+) x i32> @llvm.smin", made.asm["llir"])
        assert min(map(int, least)) >= 4, least
        assert "call i32 @llvm.smin" not in made.asm["llir"]
        counts.add(len(least))
    assert len(counts) == 1, counts
