"""Sorting networks a library writes out itself, as long as code for a thread may get.

Pairs of a key and where it stood, in blocks of 2 x 2 x ..., 64 of them a thread.
"""

from __future__ import annotations

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
