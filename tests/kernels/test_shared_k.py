"""Products of few programs, whose K blocks of a cluster share. As PTX on a simulated chip
of 16 multiprocessors."""

from __future__ import annotations

import re

import numpy as np
import pytest
import simulated
import test_strips

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = test_strips.TARGET


@tegula.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, first, last,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr,
):  # fmt: skip
    """By descriptors, B along K; iterations first to last of K."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), c_ptr.dtype.element_ty if HOW == "bytes" else tl.float32)
    if HOW == "from one":
        acc += 1
    at = first * BK
    for i in range(first, last):
        k = at if HOW == "carried" else i * BK
        if HOW == "other steps":
            k = at
            at += i * BK
        else:
            at += BK
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        if HOW == "kept":
            acc = tl.maximum(acc, 0)
    if HOW == "epilogue":
        acc = tl.maximum(acc * 0.5 + 3, 1) + tl.program_id(1)
    if HOW == "counted":
        acc += at
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))


def shares_of(compiled) -> int:
    """Blocks of a program."""
    found = re.search(r"of (\d) blocks each, which share its K", compiled.report)
    n = int(found[1]) if found else 1
    assert compiled.metadata.num_ctas == n
    assert ("reduce_scatter" in compiled.asm["simt"]) == (n > 1)
    return n


def whole(seed, *shape, dtype=np.float16):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def run(
    how="", k=520, n_m=1, n_n=3, block=(64, 128, 64), warps=4, part=(0, None),
    dtype=np.float16, out=np.float16, **options,
):  # fmt: skip
    """What was compiled; the result was right."""
    (bm, bn, bk), (first, last) = block, part
    m, n, n_k = bm * n_m - 8, bn * n_n - 8, -(-k // bk)
    last = n_k if last is None else last
    a, b = whole(1, m, k, dtype=dtype), whole(2, n, k, dtype=dtype)
    c = simulated.put(np.full((m, n), 99, out), TARGET)
    compiled = product[n_m, n_n](
        *(simulated.put(x, TARGET) for x in (a, b)), c, m, n, k, first, last,
        BM=bm, BN=bn, BK=bk, HOW=how, num_warps=warps, **options,
    )  # fmt: skip
    parts = range(first, last)
    if how == "other steps":
        parts = [first + sum(range(first, i)) for i in parts]
    want = np.zeros((m, n)) + (how == "from one")
    for i in parts:
        at = slice(i * bk, (i + 1) * bk)
        want += a[:, at].astype(float) @ b[:, at].astype(float).T
        if how == "kept":
            want = np.maximum(want, 0)
    if how == "epilogue":
        want = np.maximum(want * 0.5 + 3, 1) + np.arange(n) // bn
    if how == "counted":
        want += (last - first) * bk
    np.testing.assert_array_equal(c.numpy(), want.astype(out))
    return compiled


@pytest.mark.parametrize("k", [8, 64, 72, 200, 264, 520, 1032])
@pytest.mark.parametrize("how", ["scaled", "of columns"])
def test_iterations(how, k):
    """Fewer than blocks, as many, and more than a ring has slots. What differs from column
    to column is not computed of a rank's columns."""
    compiled = test_strips.run((128, 248, k), (64, 128, 64), how, 4, split_k="4")
    assert shares_of(compiled) == (4 if how == "scaled" else 1)


@pytest.mark.parametrize(
    "part", [(0, 0), (0, 1), (1, 3), (2, 2), (3, 9), (5, 2), (0, 9)]
)
@pytest.mark.parametrize("how", ["", "carried"])
def test_parts(how, part):
    """Loops that begin anywhere, of no iteration, too; a place that is carried begins where
    the block's part does."""
    assert shares_of(run(how, part=part, split_k="4")) == 4


@pytest.mark.parametrize("n_n, shares", [(1, 8), (2, 4), (3, 2), (8, 2), (9, 1)])
def test_programs(n_n, shares):
    """A sixteenth of the chip, an eighth, a half, or more; of many iterations or few."""
    for k, n in ((2048, shares), (2040, 1)):
        compiled = test_strips.run((64, 128 * n_n - 8, k), (64, 128, 64), warps=4)
        assert shares_of(compiled) == n


@pytest.mark.parametrize("split_k", ["1", "2", "4", "8"])
@pytest.mark.parametrize("block, warps", [
    ((64, 64, 64), 4), ((64, 128, 128), 4), ((128, 128, 64), 4), ((128, 128, 64), 8),
    ((128, 256, 64), 8), ((64, 256, 32), 4),
])  # fmt: skip
def test_blocks(block, warps, split_k):
    compiled = run("epilogue", block=block, warps=warps, split_k=split_k)
    least = block[1] // 16
    assert shares_of(compiled) == min(int(split_k), least)


@pytest.mark.parametrize("dtype, out, bk", [
    (np.float16, np.float32, 64), (np.float32, np.float32, 32), (np.int8, np.int32, 128),
])  # fmt: skip
def test_elements(dtype, out, bk):
    how = "bytes" if dtype == np.int8 else "epilogue"
    block = 64, 64, bk
    compiled = run(how, k=1040, block=block, dtype=dtype, out=out, split_k="4")
    assert shares_of(compiled) == 4


@pytest.mark.parametrize("how", ["from one", "kept", "other steps", "counted"])
def test_what_is_seen(how):
    """Sums that begin with something, or that an iteration looks at; a place that goes by
    all iterations in front of it, or that is of use behind the loop."""
    assert shares_of(run(how, split_k="4")) == 1


def test_persistent():
    """persistent=0: each program has a block of its own, and that is all."""
    assert shares_of(run(persistent="0", split_k="4")) == 1


def test_same_bits():
    """The order of the sum is that of ranks, whoever comes first."""
    rng = np.random.default_rng(3)
    m, n, k = 64, 128, 1024
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (n, k)))
    found = set()
    for _ in range(3):
        c = simulated.put(np.zeros((m, n), np.float32), TARGET)
        product[1, 1](
            *(simulated.put(x, TARGET) for x in (a, b)), c, m, n, k, 0, k // 64,
            BM=64, BN=128, BK=64, HOW="", split_k="8",
        )  # fmt: skip
        found.add(c.numpy().tobytes())
        want = a.astype(float) @ b.astype(float).T
        np.testing.assert_allclose(c.numpy(), want, rtol=1e-4, atol=1e-3)
    assert len(found) == 1


def test_strips_see_what_stands_right_behind():
    """A place that the loop carries is of use in the first op behind its last wait."""
    assert shares_of(run("counted", n_m=3, n_n=1, split_k="1")) == 1
