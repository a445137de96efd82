"""Blocks of threads that run programs in turn. The simulated GPU has 16 multiprocessors,
so 17 programs and more are turns. Stores of one turn go through the stage that the turn
before has sent from."""

from __future__ import annotations

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
IN_TURN = "in turn, on as many blocks as the chip holds"
BY_TIME = IN_TURN + ", a long one and a short one"


@tegula.jit
def products(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Axis 2 counts matrices, of which a and b have one alone."""
    m, n, z = tl.program_id(0) * BM, tl.program_id(1) * BN, tl.program_id(2)
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    rows = tl.num_programs(2) * M
    c = tl.make_tensor_descriptor(c_ptr, [rows, N], [N, 1], [BM, BN])
    acc = tl.full((BM, BN), 0, tl.float32) + z
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([z * tl.num_programs(0) * BM + m, n], acc.to(c_ptr.dtype.element_ty))


def whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def run(block, grid, n_k, warps, dtype=np.float16, **options):
    (bm, bn, bk), (x, y, z) = block, grid
    a, b = whole(0, x * bm, n_k * bk), whole(1, y * bn, n_k * bk)
    c = simulated.put(np.full((z * x * bm, y * bn), np.nan, dtype), TARGET)
    compiled = products[grid](
        simulated.put(a, TARGET), simulated.put(b, TARGET), c, x * bm, y * bn,
        n_k * bk, BM=bm, BN=bn, BK=bk, num_warps=warps, **options,
    )  # fmt: skip
    once = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_array_equal(
        c.numpy(), np.concatenate([once + i for i in range(z)]).astype(dtype)
    )
    return compiled


@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 4, 1), (2, 3, 6)])
@pytest.mark.parametrize(
    "block, warps, dtype",
    [
        ((64, 64, 64), 4, np.float16),  # one piece
        ((64, 128, 32), 4, np.float16),  # two pieces in turn
        ((128, 256, 32), 8, np.float16),  # four
        ((256, 64, 32), 8, np.float32),  # pieces too large for two in the stage
        ((64, 128, 32), 8, np.float16),  # groups beside each other write each its box
    ],
)
def test_products(block, warps, dtype, grid):
    compiled = run(block, grid, 2, warps, dtype, persistent="1")
    assert IN_TURN in compiled.report


@pytest.mark.parametrize("n_k", [0, 1, 9])
def test_any_number_of_iterations(n_k):
    """Fewer and more than the ring has slots."""
    run((64, 64, 32), (6, 4, 1), n_k, 4, persistent="1")


@pytest.mark.parametrize("n_k", [0, 1, 3, 5])
def test_stores_go_out_beside_the_next_products(n_k):
    """Four pieces, of which fewer, as many or more iterations take one each."""
    compiled = run((128, 256, 32), (3, 6, 1), n_k, 8, persistent="1")
    assert "store                 beside the next program's" in compiled.report


@pytest.mark.parametrize("grid", [(8, 3, 1), (9, 2, 3), (23, 2, 1), (1, 9, 2)])
def test_bands_of_eight_rows(grid):
    """Each program has its turn where the last band is narrower, and where it is all."""
    compiled = run((64, 128, 32), grid, 1, 4, persistent="1")
    assert f"{IN_TURN}, in bands of 8 along axis 0" in compiled.report


def test_where_it_pays():
    """Small tiles want more bytes a clock than L2 gives."""
    small = run((64, 64, 64), (5, 4, 1), 2, 4)
    assert "not in turn: its tiles are small" in small.report
    assert IN_TURN in run((64, 128, 64), (5, 4, 1), 2, 4).report


def test_said_not_to():
    compiled = run((64, 64, 64), (5, 4, 1), 2, 4, persistent="0")
    assert "programs              not in turn: persistent=0" in compiled.report


@tegula.jit
def triangle(a_ptr, b_ptr, c_ptr, N, B: tl.constexpr):
    """Of a row of blocks, those up to the program's own."""
    a = tl.make_tensor_descriptor(a_ptr, [N, N], [N, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [N, B], [B, 1], [B, B])
    c = tl.make_tensor_descriptor(c_ptr, [N, B], [B, 1], [B, B])
    m = tl.program_id(0)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(m + 1):
        acc = tl.dot(a.load([m * B, k * B]), b.load([k * B, 0]), acc)
    c.store([m * B, 0], acc.to(tl.float16))


def test_long_and_short_programs():
    """The hardware deals programs that differ, as it did."""
    n, block = 18, 64
    a, b = whole(2, n * block, n * block), whole(3, n * block, block)
    c = simulated.put(np.full_like(b, np.nan), TARGET)
    compiled = triangle[(n,)](
        simulated.put(a, TARGET), simulated.put(b, TARGET), c, n * block, B=block,
        num_warps=4,
    )  # fmt: skip
    mask = np.kron(np.tril(np.ones((n, n))), np.ones((block, block)))
    want = (a.astype(np.float64) * mask) @ b.astype(np.float64)
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float16))
    assert "not in turn: how long a product takes depends on the program" in (
        compiled.report
    )


@tegula.jit
def two_products(
    q_ptr, k_ptr, v_ptr, o_ptr, rows, N: tl.constexpr, B: tl.constexpr, FORM: tl.constexpr
):  # fmt: skip
    """Blocks of queries, each with the keys up to its own, or with all."""
    q = tl.make_tensor_descriptor(q_ptr, [rows, 64], [64, 1], [B, 64])
    k = tl.make_tensor_descriptor(k_ptr, [rows, 64], [64, 1], [B, 64])
    v = tl.make_tensor_descriptor(v_ptr, [rows, 64], [64, 1], [B, 64])
    o = tl.make_tensor_descriptor(o_ptr, [rows, 64], [64, 1], [B, 64])
    m = tl.program_id(0)
    if FORM == "down":
        m = tl.num_programs(0) - 1 - m
    first = tl.program_id(1) * N
    x = q.load([first + m * B, 0])
    acc = tl.zeros((B, 64), tl.float32)
    for j in range(tl.num_programs(0) if FORM == "all" else m + 1):
        s = tl.dot(x, k.load([first + j * B, 0]).T)
        acc = tl.dot(s.to(tl.float16), v.load([first + j * B, 0]), acc)
    o.store([first + m * B, 0], acc.to(tl.float16))


@pytest.mark.parametrize("grid", [(3, 2), (5, 21), (4, 25), (1, 40), (40, 1)])
@pytest.mark.parametrize("form", ["all", "up", "down"])
def test_chained_products(form, grid):
    """Where time goes by axis 0, a block takes programs in pairs, then by themselves."""
    run_chained(form, grid, 64, 4, persistent="1")


def test_chained_products_by_themselves():
    """Where a second block has room, its products run while the first one stores."""
    run_chained("all", (3, 9), 128, 8)
    small = two_products.compile(
        *["*fp16:16"] * 4, "i32:16", N=192, B=64, FORM="all", num_warps=4,
        target="cuda:sm_90a",
    )  # fmt: skip
    assert "not in turn: its products are chained" in str(small.report)


@pytest.mark.parametrize("form", ["all", "down"])
def test_chained_products_of_two_groups(form):
    """Each group stores its rows, and begins the next program, without the other."""
    compiled = run_chained(form, (3, 9), 128, 8, persistent="1")
    assert "bar.sync 1, 256" not in compiled.asm["ptx"]


def run_chained(form, grid, block, warps, **options):
    n, heads = grid
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.integers(-1, 2, (heads, n * block, 64)).astype(np.float16) for _ in range(3)
    )
    o = simulated.put(np.full_like(q, np.nan), TARGET)
    compiled = two_products[grid](
        *(simulated.put(x, TARGET) for x in (q, k, v)), o, heads * n * block,
        N=n * block, B=block, FORM=form, num_warps=warps, **options,
    )  # fmt: skip
    mask = np.kron(np.tril(np.ones((n, n))), np.ones((block, block)))
    s = q.astype(np.float32) @ k.astype(np.float32).swapaxes(1, 2)
    want = (s if form == "all" else s * mask) @ v.astype(np.float32)
    np.testing.assert_array_equal(o.numpy(), want.astype(np.float16))
    assert (IN_TURN if form == "all" else BY_TIME) in compiled.report
    return compiled


@pytest.mark.parametrize(
    "without", ["cp.async.bulk.wait_group.read 0;", "fence.proxy.async.shared::cta;"]
)
def test_mutants(without, tmp_path):
    """Each wait for the stage is needed, and each fence in front of what it sends: beside
    as many iterations as there are pieces, behind fewer of them, and at the end."""
    block, grid = (128, 256, 64), (9, 3, 1)  # 27: no strips behind whole rounds of 16
    ptx = run(block, grid, 2, 8).asm["ptx"]
    head, *rest = ptx.split(without)
    assert rest
    found = 0
    for i in range(len(rest)):
        parts = [head, *rest]
        text = without.join(parts[: i + 1]) + without.join(parts[i + 1 :])
        path = tmp_path / f"{i}.ptx"
        path.write_text(text)
        try:
            for n_k in (5, 2, 1):
                run(block, grid, n_k, 8, ir_override=str(path), abi="tegula")
        except (RuntimeError, AssertionError):
            found += 1
    # The first piece behind no iteration at all: a matrix without columns has no map.
    # The wait at the very end is for who comes behind the kernel.
    assert found >= len(rest) - 1 - ("wait_group" in without)
