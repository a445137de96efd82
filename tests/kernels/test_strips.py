"""Products whose last programs are taken by several blocks each, a strip of columns a
block, and tiles of which the first strip alone is inside. As PTX on a simulated chip of 16
multiprocessors."""

from __future__ import annotations

import re

import numpy as np
import pytest
import simulated
import test_multicast
import test_persistent

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
CHIP = 16  # multiprocessors


@tegula.jit
def scaled(
    a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K, sbk, sbn, scale,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr,
):  # fmt: skip
    """By pointers; HOW: what becomes of the product before it is stored."""
    n_n = tl.cdiv(N, BN)
    m, n = tl.program_id(0) // n_n * BM, tl.program_id(0) % n_n * BN
    rows, cols, k = m + tl.arange(0, BM), n + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(
            a_ptr + (rows % M)[:, None] * K + at + k[None, :],
            mask=k[None, :] < K - at, other=0.0,
        )  # fmt: skip
        b = tl.load(
            b_ptr + (at + k)[:, None] * sbk + (cols % N)[None, :] * sbn,
            mask=k[:, None] < K - at, other=0.0,
        )  # fmt: skip
        acc = tl.dot(a, b, acc)
    if HOW == "scaled":
        acc = acc * scale
    elif HOW == "of columns":
        acc += tl.load(bias_ptr + cols, mask=cols < N, other=0.0)[None, :]
    elif HOW == "asserted":
        acc = acc * scale
        tl.device_assert(K > 0)
    elif HOW == "of rows":
        first = tl.where(cols[None, :] == n, acc, 0.0)
        acc += tl.sum(first, axis=1)[:, None]
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


def strips_of(compiled) -> int:
    """Columns of a strip; 0: programs are taken whole."""
    found = re.search(r"by \d strips of (\d+) columns", compiled.report)
    in_turn = test_persistent.IN_TURN in compiled.report
    assert ("num_blocks" in compiled.asm["simt"]) == (bool(found) or in_turn)
    return int(found[1]) if found else 0


def run(sides, block, how="scaled", warps=8, along_k=False, **options):
    """What was compiled; the result was right."""
    (m, n, k), (bm, bn, bk) = sides, block
    a, b = (
        np.random.default_rng(i).integers(-4, 5, s).astype(np.float16)
        for i, s in enumerate([(m, k), (k, n)])
    )
    bias = np.random.default_rng(2).integers(-4, 5, n).astype(np.float32)
    c = simulated.put(np.full((m, n), np.nan, np.float16), TARGET)
    operands = a, np.ascontiguousarray(b.T) if along_k else b
    compiled = scaled[(-(-m // bm) * -(-n // bn),)](
        *(simulated.put(x, TARGET) for x in operands), c, simulated.put(bias, TARGET),
        m, n, k, *((1, k) if along_k else (n, 1)), 2.0, BM=bm, BN=bn, BK=bk, HOW=how,
        num_warps=warps, **options,
    )  # fmt: skip
    want = a.astype(np.float32) @ b.astype(np.float32)
    if how in ("scaled", "asserted"):
        want *= 2
    elif how == "of columns":
        want += bias
    elif how == "of rows":
        want += want[:, np.arange(n) // bn * bn]
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float16))
    return compiled


@pytest.mark.parametrize("n_m", [15, 16, 17, 18, 20, 21, 24, 25, 31, 32, 33, 40, 41])
def test_rounds(n_m):
    """Behind whole rounds over the chip nothing is left, one program, a quarter, a half, or
    more."""
    compiled = run((64 * n_m - 8, 120, 136), (64, 128, 64), warps=4, multicast="1")
    is_short = 0 < n_m % CHIP <= CHIP // 2
    assert strips_of(compiled) == (64 if is_short else 0)


@pytest.mark.parametrize("n_m", [9, 10, 11, 12])
@pytest.mark.parametrize("n", [264, 320, 328, 392, 456, 512])
def test_columns(n, n_m):
    """A tile of which one strip, or more is inside; strips of one box and of two."""
    sides = (128 * n_m - 72, n, 72)
    want = 64 if n_m < 11 else 128
    assert strips_of(run(sides, (128, 256, 64))) == want


@pytest.mark.parametrize("k", [8, 72, 200, 264, 520])
@pytest.mark.parametrize("hopper", ["3", "3,5"])
def test_iterations(k, hopper):
    """Fewer and more than the ring has slots."""
    compiled = run(
        (64 * 9, 136, k), (64, 128, 64), warps=4, hopper=hopper, multicast="1"
    )
    assert strips_of(compiled) == 64


@pytest.mark.parametrize("block, warps", [((128, 128, 64), 8), ((128, 128, 32), 8),
                                          ((256, 128, 64), 8)])  # fmt: skip
def test_blocks(block, warps):
    sides = (block[0] * 9, 136, 136)
    assert strips_of(run(sides, block, warps=warps, multicast="1"))


@pytest.mark.parametrize("how", ["scaled", "of columns", "of rows", "asserted"])
def test_what_is_stored(how):
    """Columns that are of other use than to be stored where they are have to be there, and
    nobody may see how many blocks take a program."""
    compiled = run(
        (64 * 9, 136, 136),
        (64, 128, 64),
        how,
        4,
        multicast="1",
        debug=how == "asserted",
    )
    assert strips_of(compiled) == (64 if how == "scaled" else 0)


@pytest.mark.parametrize("order", test_multicast.ORDERS)
def test_orders(order):
    n_m, n_n, how = test_multicast.ORDERS[order]
    sides = (64 * n_m * 3, 128 * n_n - 56, 136)
    while -(-sides[0] // 64) * n_n % CHIP not in range(1, 9):
        sides = (sides[0] + 64, *sides[1:])
    compiled = test_multicast.run(sides, (64, 128, 64), how, multicast="1")
    in_turn = test_persistent.IN_TURN in compiled.report
    assert strips_of(compiled) == (
        64 if how >= 0 or in_turn else 0
    )  # dealt by one axis


@pytest.mark.parametrize("n_m", [3, 17, 24, 25, 40])
@pytest.mark.parametrize("k, along_k", [(8, False), (128, True), (640, True)])
def test_in_turn(n_m, k, along_k):
    """Strips behind the programs of whole rounds, which run in turn; or strips alone."""
    compiled = run((64 * n_m - 8, 128, k), (64, 128, 64), warps=4, along_k=along_k)
    assert strips_of(compiled) == (64 if 0 < n_m % CHIP <= CHIP // 2 else 0)
    assert (test_persistent.IN_TURN in compiled.report) == (n_m > CHIP)


@pytest.mark.parametrize("n", [264, 512])
def test_along_k(n):
    """Strips of fewer lines of one box, which neighbours may bring by halves."""
    sides = (128 * 9 - 8, n, 136)
    assert strips_of(run(sides, (128, 256, 64), along_k=True)) == 64


@pytest.mark.parametrize("n_m", [9, 10, 12, 20])
@pytest.mark.parametrize("k", [72, 264])
def test_pairs_in_turn(n_m, k):
    """Neighbours bring tiles by halves in each turn and for their strips."""
    compiled = run((128 * n_m, 264, k), (128, 256, 64))
    assert test_persistent.IN_TURN in compiled.report
    assert "multicast::cluster" in compiled.asm["ptx"]


def test_own_blocks():
    """persistent=0: each program has a block of its own, and that is all."""
    compiled = run((64 * 9, 136, 136), (64, 128, 64), warps=4, persistent="0")
    assert not strips_of(compiled)
