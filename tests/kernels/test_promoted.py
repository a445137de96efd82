"""Loads through plain pointers that are blocks of tensors: copied by tensor maps, with the
very result that the pointers give, and left alone where that cannot be said. Random ones
are in tests/props/fuzz_promoted.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

sys.path.append(str(Path(__file__).parents[1] / "runtime"))

from dlpack_mock import CUDA, Producer

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


def maps_of(compiled: Any) -> int:
    return compiled.asm["tir"].count("= map_load ")


def put(x: np.ndarray) -> Any:
    return simulated.put(x, TARGET)


@tegula.jit
def tutorial(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):  # fmt: skip
    """Triton's tutorial 03."""
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    c = accumulator.to(tl.float16)
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


# Rows that wrap are not stored, so no side asks the launch; a tensor without elements does.
@pytest.mark.parametrize(
    "M, N, K, n_compiles",
    [
        (128, 64, 96, 1),
        (64, 192, 40, 1),
        (120, 88, 64, 1),
        (3, 8, 8, 1),
        (128, 64, 0, 2),
    ],
)
@pytest.mark.parametrize("b_turned", [False, True])
def test_tutorial(
    M: int, N: int, K: int, n_compiles: int, b_turned: bool,
    rng: np.random.Generator, compiles: list,
) -> None:  # fmt: skip
    rows = max(K, 8)
    a = (rng.integers(-4, 5, (M, rows)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (rows, N)) / 4).astype(np.float16)
    there = put(b.T) if b_turned else put(b)
    sb = (1, rows) if b_turned else (N, 1)
    c = put(np.full((M, N), np.nan, np.float16))
    kernel = tegula.jit(tutorial.fn)
    run = kernel[(tegula.cdiv(M, 64) * tegula.cdiv(N, 64),)](
        put(a), there, c, M, N, K, rows, 1, *sb, N, 1,
        BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32, GROUP_SIZE_M=2,
        num_warps=4, hopper="3,all",
    )  # fmt: skip
    assert maps_of(run) == 2, run.report
    assert len(compiles) == n_compiles
    expect = (a[:, :K].astype(np.float64) @ b[:K].astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(c.numpy(), expect)


@pytest.mark.parametrize("M, N, K", [(128, 128, 160), (100, 88, 72), (3, 200, 64)])
@pytest.mark.parametrize("block_n, num_warps", [(64, 4), (128, 8), (16, 4)])
def test_roles(
    M: int, N: int, K: int, block_n: int, num_warps: int, rng: np.random.Generator
) -> None:
    """Warps of their own bring both operands; where they would not, pointers stay."""
    a = (rng.integers(-4, 5, (M, K)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (K, N)) / 4).astype(np.float16)
    c = put(np.full((M, N), np.nan, np.float16))
    block_m = 16 * num_warps
    run = tutorial[(tegula.cdiv(M, block_m) * tegula.cdiv(N, block_n),)](
        put(a), put(b), c, M, N, K, K, 1, N, 1, N, 1,
        BLOCK_SIZE_M=block_m, BLOCK_SIZE_N=block_n, BLOCK_SIZE_K=64, GROUP_SIZE_M=2,
        num_warps=num_warps, hopper="3",
    )  # fmt: skip
    n_maps = maps_of(run)
    assert n_maps in (0, 2) and (n_maps == 2) == ("roles {" in run.asm["simt"])
    assert n_maps == 2 or block_n == 16, run.report
    expect = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(c.numpy(), expect)


@tegula.jit
def split_k(
    a_ptr, b_ptr, c_ptr, done_ptr, M, N, K, SPLIT: tl.constexpr, LOOKS: tl.constexpr,
    ORDERED: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """LOOKS: somebody wants what an atomic gives; ORDERED: in front of the loads."""
    z, tile = tl.program_id(1), tl.program_id(0)
    if ORDERED:
        before = tl.atomic_add(done_ptr, 1)
        if LOOKS:
            tl.store(done_ptr + 1 + z * 4 + tile, before)
    m = tile // tl.cdiv(N, B) * B + tl.arange(0, B)
    n = tile % tl.cdiv(N, B) * B + tl.arange(0, B)
    k = z * B + tl.arange(0, B)
    a_ptrs = a_ptr + (m % M)[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + (n % N)[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for i in range(tl.cdiv(K, B * SPLIT)):
        left = K - i * B * SPLIT
        a = tl.load(a_ptrs, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += B * SPLIT
        b_ptrs += B * SPLIT * N
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.atomic_add(c_ptr + m[:, None] * N + n[None, :], acc, mask=mask)


@pytest.mark.parametrize("is_looked_at, is_ordered", [(0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("M, N, K", [(128, 64, 512), (104, 120, 456)])
def test_atomics(
    M: int, N: int, K: int, is_looked_at: int, is_ordered: int, rng: np.random.Generator
) -> None:
    """One whose result nobody wants orders no loads; the others might."""
    a = (rng.integers(-4, 5, (M, K)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (K, N)) / 4).astype(np.float16)
    c, done = put(np.zeros((M, N), np.float32)), put(np.zeros(16, np.int32))
    run = split_k[(tegula.cdiv(M, 64) * tegula.cdiv(N, 64), 2)](
        put(a), put(b), c, done, M, N, K, SPLIT=2, LOOKS=is_looked_at,
        ORDERED=is_ordered, B=64, num_warps=4, hopper="3",
    )  # fmt: skip
    assert maps_of(run) == (0 if is_looked_at else 2), run.report
    np.testing.assert_array_equal(
        c.numpy(), a.astype(np.float64) @ b.astype(np.float64)
    )


@tegula.jit
def stored_and_told(a_ptr, c_ptr, done_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = i[:, None] * n + tl.arange(0, B)[None, :]
    a = tl.load(a_ptr + at)
    tl.store(c_ptr + at, tl.dot(a, a).to(tl.float16))
    tl.atomic_add(done_ptr, 1)


def test_atomics_tell_what_is_stored() -> None:
    """Another program may read c where it sees the count: no copy is on its way."""
    a, c = put(np.ones((128, 64), np.float16)), put(np.zeros((128, 64), np.float16))
    done = put(np.zeros(1, np.int32))
    run = stored_and_told[(2,)](a, c, done, 64, B=64, num_warps=4, hopper="3,all")
    assert maps_of(run) == 1 and "map_store" not in run.asm["tir"], run.report
    assert (c.numpy() == 64).all() and done.numpy()[0] == 2


@tegula.jit
def persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sbk, scm, n_programs,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr,
    P: tl.constexpr, END: tl.constexpr,
):  # fmt: skip
    """Triton's tutorial 09 by pointers: what is behind the end has another row's index,
    and the number of the tile to store is counted beside the loop's."""
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    step = P if P else n_programs
    stored = pid - step
    for tile in tl.range(pid, rows * cols, step, flatten=True):
        m, n = tile_of(tile, rows, cols, G)
        m, n = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
        if END == "where":
            m, n = tl.where(m < M, m, 0), tl.where(n < N, n, 0)
            m = tl.max_contiguous(tl.multiple_of(m, BM), BM)
            n = tl.max_contiguous(tl.multiple_of(n, BN), BN)
        if END == "minimum":
            m, n = tl.minimum(m, M - 1), tl.minimum(n, N - 1)
        acc = tl.zeros((BM, BN), tl.float32)
        for i in range(tl.cdiv(K, BK)):
            k = i * BK + tl.arange(0, BK)
            a_mask, b_mask = k[None, :] < K, k[:, None] < K
            if END == "mask":
                a_mask, b_mask = a_mask & (m[:, None] < M), b_mask & (n[None, :] < N)
            a = tl.load(a_ptr + m[:, None] * sam + k[None, :], a_mask, 0.0)
            b = tl.load(b_ptr + k[:, None] * sbk + n[None, :], b_mask, 0.0)
            acc = tl.dot(a, b, acc)
        stored += step
        m, n = tile_of(stored, rows, cols, G)
        m, n = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
        at = c_ptr + scm * m[:, None] + n[None, :]
        tl.store(at, acc.to(tl.float16), (m[:, None] < M) & (n[None, :] < N))


@tegula.jit
def tile_of(tile, rows, cols, G: tl.constexpr):
    first = tile // (G * cols) * G
    side = min(rows - first, G)
    return first + tile % side, tile % (G * cols) // side


@pytest.mark.parametrize("n_programs", [3, 16])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("end", ["where", "minimum", "mask"])
@pytest.mark.parametrize("M, N, K", [(256, 128, 128), (200, 152, 104), (72, 320, 72)])
def test_persistent(
    M: int, N: int, K: int, end: str, is_known: bool, n_programs: int,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    a = (rng.integers(-4, 5, (M, K)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (K, N)) / 4).astype(np.float16)
    c = put(np.full((M, N), np.nan, np.float16))
    run = persistent[(n_programs,)](
        put(a), put(b), c, M, N, K, K, N, N, n_programs, BM=64, BN=64, BK=64, G=2,
        P=n_programs if is_known else 0, END=end, num_warps=4, hopper="3",
    )  # fmt: skip
    assert maps_of(run) == 2 and "roles {" in run.asm["simt"], run.report
    expect = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(c.numpy(), expect)


@tegula.jit
def kept_in_front(a_ptr, b_ptr, c_ptr, M, sam, B: tl.constexpr, END: tl.constexpr):
    """The sums over all rows of a block: what is behind the end counts as another row."""
    i, k = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    i = tl.where(i < M, i, 0) if END == "where" else tl.minimum(i, M - 1)
    a = tl.load(a_ptr + i[:, None] * sam + k[None, :])
    b = tl.load(b_ptr + k[:, None] * B + k[None, :])
    tl.store(c_ptr + tl.program_id(0) * B + k, tl.sum(tl.dot(a, b), axis=0))


@pytest.mark.parametrize("end", ["where", "minimum"])
def test_rows_behind_the_end_that_count(end: str, rng: np.random.Generator) -> None:
    M = 40
    a = (rng.integers(-4, 5, (M, 32)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (32, 32)) / 4).astype(np.float16)
    c = put(np.full((2, 32), np.nan, np.float32))
    kernel_args = put(a), put(b), c, M, 32
    run = kept_in_front[(2,)](*kernel_args, B=32, END=end, num_warps=4, hopper="3,all")
    assert maps_of(run) == 1, run.report  # of B
    i = np.arange(64)
    rows = np.where(i < M, i, 0) if end == "where" else np.minimum(i, M - 1)
    product = a[rows].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(c.numpy(), product.reshape(2, 32, 32).sum(axis=1))


@tegula.jit
def columns(a_ptr, b_ptr, c_ptr, M, sam, B: tl.constexpr):
    """The sums over all rows of a block: here a row that wraps counts."""
    i, k = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    a = tl.load(a_ptr + (i % M)[:, None] * sam + k[None, :])
    b = tl.load(b_ptr + k[:, None] * B + k[None, :])
    tl.store(c_ptr + tl.program_id(0) * B + k, tl.sum(tl.dot(a, b), axis=0))


@pytest.mark.parametrize("M, n_compiles", [(64, 1), (40, 2)])
def test_wraps_that_count(
    M: int, n_compiles: int, rng: np.random.Generator, compiles: list
) -> None:
    a = (rng.integers(-4, 5, (M, 32)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (32, 32)) / 4).astype(np.float16)
    c = put(np.full((2, 32), np.nan, np.float32))
    kernel = tegula.jit(columns.fn)
    run = kernel[(2,)](put(a), put(b), c, M, 32, B=32, num_warps=4, hopper="3,all")
    assert maps_of(run) == 2, run.report
    assert len(compiles) == n_compiles
    rows = a[np.arange(64) % M].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(c.numpy(), rows.reshape(2, 32, 32).sum(axis=1))


class Elsewhere(Producer):
    """Memory of the GPU, by a library that says how far a tensor reaches."""

    def __init__(self, of: Any, first: int, sides: tuple[int, int]) -> None:
        n = sides[0] * sides[1]
        array = of.array.reshape(-1)[first : first + n].reshape(sides)
        super().__init__(array, (CUDA, simulated.DEVICES[TARGET]))
        self.of = of

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule()


@tegula.jit
def shifted(a_ptr, b_ptr, c_ptr, n, B: tl.constexpr):
    """Each product is stored when all of its factors have been loaded."""
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        a = tl.load(a_ptr + i[:, None] * n + (k + i)[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * B + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * B + i[None, :], acc.to(tl.float16))


@pytest.mark.parametrize(
    "first, n_compiles", [(-64 * 64, 1), (-64, 2), (0, 2), (64, 2)]
)
def test_stored_where_it_is_loaded(
    first: int, n_compiles: int, rng: np.random.Generator, compiles: list
) -> None:
    """Also where the stored tensor begins in front of the loaded one."""
    n, B = 192, 64
    room = put((rng.integers(-2, 3, 2 * B * n) / 4).astype(np.float16))
    b = put((rng.integers(-2, 3, (n, B)) / 4).astype(np.float16))
    a = Elsewhere(room, B * B, (B, n))
    want = (a.array.astype(np.float64) @ b.array.astype(np.float64)).astype(np.float16)
    c = Elsewhere(room, B * B + first, (B, B))
    tegula.jit(shifted.fn)[(1,)](a, b, c, n, B=B, num_warps=4)
    assert len(compiles) == n_compiles
    np.testing.assert_array_equal(c.array, want)


def test_reach_is_asked_of_each_launch(
    rng: np.random.Generator, compiles: list
) -> None:
    """The maps of a launch before it had the same addresses, but not the same extents."""
    n, B = 192, 64
    room = put((rng.integers(-2, 3, 2 * B * n) / 4).astype(np.float16))
    b = put((rng.integers(-2, 3, (n, B)) / 4).astype(np.float16))
    c = Elsewhere(room, n, (B, B))
    kernel = tegula.jit(shifted.fn)
    for rows, n_compiles in ((1, 1), (1, 1), (B, 2)):
        kernel[(1,)](Elsewhere(room, 0, (rows, n)), b, c, n, B=B, num_warps=4)
        assert len(compiles) == n_compiles


@tegula.jit
def by_steps(a_ptr, b_ptr, c_ptr, n, step, N: tl.constexpr, B: tl.constexpr):
    """The launch says that `step` is not negative, and warps of their own need no more."""
    pid, i = tl.program_id(0), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        a = tl.load(a_ptr + (pid * step + i)[:, None] * N + (k + i)[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * B + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + (pid * B + i)[:, None] * B + i[None, :], acc)


@pytest.mark.parametrize("step, n_compiles", [(32, 1), (0, 1), (-32, 2)])
def test_launch_is_asked(
    step: int, n_compiles: int, rng: np.random.Generator, compiles: list
) -> None:
    n, B = 192, 64
    a = put((rng.integers(-2, 3, (3 * B, n)) / 4).astype(np.float16))
    b = put((rng.integers(-2, 3, (n, B)) / 4).astype(np.float16))
    c = put(np.full((2, B, B), np.nan, np.float32))
    kernel = tegula.jit(by_steps.fn)
    run = kernel[(2,)](a[B:], b, c, n, step, N=n, B=B, num_warps=4)
    assert "roles {" in run.asm["simt"] and len(compiles) == n_compiles
    for pid in range(2):
        rows = a.array[B + pid * step :][:B].astype(np.float64)
        np.testing.assert_array_equal(c.array[pid], rows @ b.array)


@tegula.jit
def many_tiles(x_ptr, o_ptr, n, N: tl.constexpr, D: tl.constexpr):
    """2 N tiles of an iteration: one slot for each is more than there is room for."""
    i = tl.arange(0, D)
    at = i[:, None] * D + i[None, :]
    acc = tl.zeros((D, D), tl.float32)
    for t in range(n):
        tiles = x_ptr + t * (2 * N * D * D) + at
        for j in tl.static_range(N):
            a = tl.load(tiles + 2 * j * D * D)
            b = tl.load(tiles + (2 * j + 1) * D * D)
            acc += tl.dot(a, b)
    tl.store(o_ptr + at, acc)


@pytest.mark.parametrize("num_warps", [4, 8])  # by 4 the compiler takes 8
@pytest.mark.parametrize("N, has_roles", [(3, True), (4, False)])
def test_no_room_for_one_slot_each(
    N: int, has_roles: bool, num_warps: int, rng: np.random.Generator
) -> None:
    x = put((rng.integers(-2, 3, (2, N, 2, 128, 128)) / 4).astype(np.float16))
    o = put(np.full((128, 128), np.nan, np.float32))
    run = many_tiles[(1,)](x, o, 2, N=N, D=128, num_warps=num_warps)
    assert ("roles {" in run.asm["simt"]) is has_roles
    assert "wgmma.mma_async" in run.asm["ptx"]
    pairs = x.array.astype(np.float64).reshape(-1, 2, 128, 128)
    np.testing.assert_array_equal(o.array, sum(a @ b for a, b in pairs))
