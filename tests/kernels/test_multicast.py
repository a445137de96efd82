"""Products of few programs, of which neighbours read the same tile of one operand: each
brings half of it for both. As PTX on a simulated cluster of two blocks."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
import test_persistent

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
SHARED = "brought by halves, where the neighbouring program reads it, too"


@tegula.jit
def products(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ORDER: tl.constexpr,
    TURNED: tl.constexpr = False, CARRIED: tl.constexpr = False,
):  # fmt: skip
    """ORDER: rows of tiles in groups of so many; 0: along rows; -1: by the grid's axes."""
    n_m, n_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    pid = tl.program_id(0)
    if ORDER > 0:
        first = pid // (ORDER * n_n) * ORDER
        rows = tl.minimum(n_m - first, ORDER)
        m = first + pid % (ORDER * n_n) % rows
        n = pid % (ORDER * n_n) // rows
    elif ORDER == 0:
        m, n = pid // n_n, pid % n_n
    else:
        m, n = pid, tl.program_id(1)
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    if TURNED:
        b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    at = 0
    for k in range(0, K, BK):
        if CARRIED:
            k = at
        if TURNED:
            y = b.load([n * BN, k]).T
        else:
            y = b.load([k, n * BN])
        acc = tl.dot(a.load([m * BM, k]), y, acc)
        at += BK
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    c.store([m * BM, n * BN], acc)


def put(x: np.ndarray, dtype: str) -> simulated.Tensor:
    if dtype != "bfloat16":
        return simulated.put(x.astype(dtype), TARGET)
    there = simulated.put((x.view(np.uint32) >> 16).astype(np.uint16), TARGET)
    there.dtype = dtype
    return there


def run(
    sides, block, order, warps=4, turned=False, dtype="float16", kernel=products,
    grid=None, **options,
):  # fmt: skip
    """What was compiled; the result was right."""
    (m, n, k), (bm, bn, bk) = sides, block
    a, b = (
        np.random.default_rng(i).integers(-4, 5, s).astype(np.float32)
        for i, s in enumerate([(m, k), (n, k) if turned else (k, n)])
    )
    c = simulated.put(np.full((m, n), np.nan, np.float32), TARGET)
    n_m, n_n = -(-m // bm), -(-n // bn)
    compiled = kernel[grid or ((n_m, n_n) if order < 0 else (n_m * n_n,))](
        put(a, dtype), put(b, dtype), c, m, n, k, BM=bm, BN=bn, BK=bk, ORDER=order,
        TURNED=turned, num_warps=warps, **options,
    )  # fmt: skip
    np.testing.assert_array_equal(c.numpy(), a @ (b.T if turned else b))
    return compiled


def is_paired(compiled) -> bool:
    paired = "pair=1" in compiled.asm["simt"]
    assert (".reqnctapercluster 2" in compiled.asm["ptx"]) == paired
    assert ("multicast::cluster" in compiled.asm["ptx"]) == paired
    assert (SHARED in compiled.report) == paired
    return paired


# How many rows and columns of tiles there are, in which order programs take them, and so
# whether neighbours share a column or a row of tiles.
ORDERS = {
    "all share": (2, 3, 8),
    "some share": (3, 4, 8),
    "groups of unlike size": (3, 2, 2),
    "none shares": (2, 4, 1),
    "all share A": (3, 2, 0),
    "some share A": (2, 3, 0),
    "all share by the grid": (2, 3, -1),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_orders(order, turned):
    n_m, n_n, how = ORDERS[order]
    sides = (64 * n_m, 64 * n_n, 128)
    assert is_paired(run(sides, (64, 64, 64), how, turned=turned, multicast="1"))


@pytest.mark.parametrize(
    "dtype, turned",
    [
        ("float16", False),
        ("float16", True),
        ("bfloat16", False),
        ("float32", True),  # tf32 runs along k
    ],
)
@pytest.mark.parametrize(
    "block, warps",
    [
        ((64, 64, 32), 4),
        ((64, 128, 64), 4),  # B's tile is two boxes
        ((128, 64, 32), 8),
        ((128, 128, 64), 8),
        ((64, 128, 64), 8),  # groups beside each other
    ],
)
def test_types_and_blocks(dtype, block, warps, turned):
    """Tiles of one box are halved, others go box by box."""
    block = (*block[:2], block[2] // (2 if dtype == "float32" else 1))
    sides = (2 * block[0], 2 * block[1], 2 * block[2])
    for order in (8, 0):
        compiled = run(sides, block, order, warps, turned, dtype, multicast="1")
        assert is_paired(compiled)


@pytest.mark.parametrize("order", [8, 0])
@pytest.mark.parametrize("sides", [(100, 136, 200), (72, 264, 72), (8, 72, 136)])
@pytest.mark.parametrize("turned", [False, True])
def test_ragged(sides, turned, order):
    tiles = -(-sides[0] // 64) * -(-sides[1] // 64)
    compiled = run(sides, (64, 64, 64), order, turned=turned, multicast="1")
    assert is_paired(compiled) == (tiles % 2 == 0)


@pytest.mark.parametrize("hopper", ["3,2", "3,5"])
@pytest.mark.parametrize("n_k", [1, 2, 3, 5, 6, 20])
def test_any_number_of_iterations(n_k, hopper):
    """Fewer and more than the ring has slots; one pair of three does not share."""
    sides = (3 * 64, 2 * 64, n_k * 32)
    assert is_paired(
        run(sides, (64, 64, 32), 8, multicast="1", hopper=hopper, CARRIED=n_k % 2)
    )


def test_odd_grids():
    """Each has code of its own, and none waits for a neighbour that is not there."""
    kernel = tegula.jit(products.fn)
    for n_m in (1, 2, 3, 2, 1):
        compiled = run(
            (64 * n_m, 64, 128), (64, 64, 64), 8, kernel=kernel, multicast="1"
        )
        assert is_paired(compiled) == (n_m % 2 == 0)


@tegula.jit
def counted(
    a_ptr, b_ptr, c_ptr, starts_ptr, counts_ptr, M, N, K,
    B: tl.constexpr, WHEN: tl.constexpr,
):  # fmt: skip
    """c += a @ b + m, and each adds the grid's first side to a number of its own."""
    m, n = tl.program_id(0), tl.program_id(1)
    start = tl.load(starts_ptr + m)
    mine = counts_ptr + m * tl.num_programs(1) + n
    if WHEN == "before":
        tl.store(mine, tl.load(mine) + tl.num_programs(0))
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    acc = tl.full((B, B), start, tl.float32)
    for k in range(0, K, B):
        acc = tl.dot(a.load([m * B, k]), b.load([k, n * B]), acc)
        if WHEN == "within":
            tl.store(mine, tl.load(mine) + tl.num_programs(0))
    rows, cols = m * B + tl.arange(0, B), n * B + tl.arange(0, B)
    c = c_ptr + rows[:, None] * N + cols[None, :]
    inside = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c, tl.load(c, inside) + acc, inside)
    if WHEN == "behind":
        tl.store(mine, tl.load(mine) + tl.num_programs(0))


@pytest.mark.parametrize("n_m", [2, 3, 16, 17, 19])
@pytest.mark.parametrize("when", ["behind", "before", "within"])
def test_a_spare_block(n_m, when):
    """Beside the last program of a long odd grid; nobody sees what it does, and the grid
    that the kernel is told of is the user's."""
    rows, k = 64 * n_m - 8, 128
    a, b = (test_persistent.whole(i, *s) for i, s in enumerate([(rows, k), (k, 136)]))
    c = simulated.put(np.ones((rows, 136), np.float32), TARGET)
    starts = simulated.put(np.arange(n_m, dtype=np.float32), TARGET)
    counts = simulated.put(np.zeros(3 * n_m + 3, np.int32), TARGET)
    compiled = counted[(n_m, 3)](
        simulated.put(a, TARGET), simulated.put(b, TARGET), c, starts, counts, rows, 136, k,
        B=64, WHEN=when, num_warps=4, multicast="1",
    )  # fmt: skip
    of_row = 1 + np.arange(rows)[:, None] // 64
    np.testing.assert_array_equal(c.numpy(), a.astype(np.float32) @ b + of_row)
    want = np.zeros(3 * n_m + 3, np.int32)
    want[: 3 * n_m] = n_m * (k // 64 if when == "within" else 1)
    np.testing.assert_array_equal(counts.numpy(), want)
    has_neighbours = n_m % 2 == 0 or (n_m >= 16 and when == "behind")
    assert is_paired(compiled) == has_neighbours
    assert ("pair=2" in compiled.asm["simt"]) == (has_neighbours and n_m % 2 == 1)


def test_an_odd_grid_for_a_variant():
    """What was compiled for pairs is not what runs there."""
    compiled = run((128, 64, 128), (64, 64, 64), 8, multicast="1")
    assert is_paired(compiled)
    a, b = (test_persistent.whole(i, *s) for i, s in enumerate([(192, 128), (128, 64)]))
    c = simulated.put(np.full((192, 64), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, b)]
    compiled[(3,)](*there, c, 192, 64, 128)
    np.testing.assert_array_equal(c.numpy(), a.astype(np.float32) @ b)


@pytest.mark.parametrize(
    "sides, options, pays",
    [
        ((128, 136, 136), {}, True),  # rows of 272 bytes
        ((128, 136, 136), {"multicast": "0"}, False),
        ((128, 128, 128), {}, False),  # rows begin at lines of L2
        ((8 * 64, 136, 136), {}, True),  # more programs than the chip holds at once
        ((17 * 64, 56, 136), {}, True),  # an odd number of them
        ((3 * 64, 136, 136), {}, False),  # a spare block would be one of ten
    ],
)
def test_where_it_pays(sides, options, pays):
    assert is_paired(run(sides, (64, 64, 64), 8, **options)) == pays


def test_in_turn():
    """Neighbours that are both in turn bring tiles by halves. Of an odd number of programs
    one has no neighbour, so the hardware deals them, and those of small tiles; where rows
    begin at lines, tiles come whole."""
    even = run((8 * 128, 264, 136), (128, 128, 64), 8, warps=8)
    assert is_paired(even)
    assert test_persistent.IN_TURN in even.report
    odd = run((17 * 128, 72, 72), (128, 128, 64), 8, warps=8)
    small = run((8 * 64, 392, 136), (64, 128, 64), 8)
    for dealt in (odd, small):
        assert is_paired(dealt)
        assert "not in turn: neighbours bring tiles by halves" in dealt.report
    whole = run((8 * 64, 3 * 128, 128), (64, 128, 64), 8)
    assert not is_paired(whole)
    assert test_persistent.IN_TURN in whole.report
    assert "bands" not in whole.report  # the kernel has an order of its own


def test_programs_of_unlike_length():
    """Neighbours would wait for each other for good."""
    n, block = 4, 64
    a = test_persistent.whole(2, n * block, n * block)
    b = test_persistent.whole(3, n * block, block)
    c = simulated.put(np.full_like(b, np.nan), TARGET)
    compiled = test_persistent.triangle[(n,)](
        simulated.put(a, TARGET), simulated.put(b, TARGET), c, n * block, B=block,
        num_warps=4, multicast="1",
    )  # fmt: skip
    mask = np.kron(np.tril(np.ones((n, n))), np.ones((block, block)))
    want = (a.astype(np.float64) * mask) @ b.astype(np.float64)
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float16))
    assert not is_paired(compiled)
