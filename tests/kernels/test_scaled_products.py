"""Products whose results are scaled by blocks before they are summed up, as of float8:
threads load the scales that they want, and a scale of a whole block is one number."""

from __future__ import annotations

import re

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")


def put(x: np.ndarray) -> simulated.Tensor:
    return simulated.put(x, "sm_90a")


@tegula.jit
def scaled(
    a_ptr, b_ptr, c_ptr, s_ptr, t_ptr, M, N, K, group, GROUP: tl.constexpr,
    WRAPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """GROUP: the columns of a scale of B, 0: `group`, which is no constant."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    i, j = (m % M, n % N) if WRAPS else (m, n)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + i[:, None] * K + k[None, :]
    b_ptrs = b_ptr + j[None, :] * K + k[:, None]
    s_ptrs = s_ptr + i * (K // BK)
    t_ptrs = t_ptr + j // (GROUP if GROUP else group) * (K // BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(K // BK):
        s, t = tl.load(s_ptrs), tl.load(t_ptrs)
        product = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), out_dtype=tl.int32)
        acc += product.to(tl.float32) * s[:, None] * t[None, :]
        a_ptrs += BK
        b_ptrs += BK
        s_ptrs += 1
        t_ptrs += 1
    at = c_ptr + m[:, None] * N + n[None, :]
    tl.store(at, acc, (m[:, None] < M) & (n[None, :] < N))


@tegula.jit
def scaled_by_index(
    a_ptr, b_ptr, c_ptr, s_ptr, t_ptr, M, N, K, group, GROUP: tl.constexpr,
    WRAPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The same; the scales' addresses are computed in each iteration."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    i, j = (m % M, n % N) if WRAPS else (m, n)
    k = tl.arange(0, BK)
    s_ptrs = s_ptr + i * (K // BK)
    t_ptrs = t_ptr + j // (GROUP if GROUP else group) * (K // BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for x in range(K // BK):
        a = tl.load(a_ptr + i[:, None] * K + (x * BK + k)[None, :])
        b = tl.load(b_ptr + j[None, :] * K + (x * BK + k)[:, None])
        s, t = tl.load(s_ptrs + x), tl.load(t_ptrs + x)
        product = tl.dot(a, b, out_dtype=tl.int32)
        acc += product.to(tl.float32) * s[:, None] * t[None, :]
    at = c_ptr + m[:, None] * N + n[None, :]
    tl.store(at, acc, (m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("hopper", ["3", "2", "1"])
@pytest.mark.parametrize("wraps, group", [(0, 64), (1, 64), (1, 0), (0, 16), (0, 0)])
@pytest.mark.parametrize("kernel", [scaled, scaled_by_index])
@pytest.mark.parametrize(
    "BM, BN, num_warps", [(64, 64, 4), (128, 64, 8), (128, 128, 4)]
)
def test_scaled_blocks(
    kernel, wraps: int, group: int, BM: int, BN: int, num_warps: int, hopper: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    BK, K, N = 64, 256, 192 if wraps else 256
    M, columns = (160 if wraps else 256), group or 32
    a, b = (rng.integers(-8, 9, (side, K), dtype=np.int8) for side in (M, N))
    s = rng.choice([0.25, 0.5, 1, 2], (M, K // BK)).astype(np.float32)
    t = rng.choice([0.25, 0.5, 1, 2], (-(-N // columns), K // BK)).astype(np.float32)
    c = put(np.full((M, N), np.nan, np.float32))
    run = kernel[(tegula.cdiv(M, BM), tegula.cdiv(N, BN))](
        put(a), put(b), c, put(s), put(t), M, N, K, columns, GROUP=group, WRAPS=wraps,
        BM=BM, BN=BN, BK=BK, num_warps=num_warps, hopper=hopper,
    )  # fmt: skip
    by_k = a.astype(np.float64) * s.repeat(BK, axis=1)
    by_n = b.astype(np.float64) * t.repeat(columns, axis=0)[:N].repeat(BK, axis=1)
    np.testing.assert_array_equal(c.numpy(), by_k @ by_n.T)
    text = run.asm["simt"]
    # Of mma.sync a thread has eight rows, whose addresses a loop would carry.
    is_moved = kernel is scaled and hopper == "1" and (BM, BN) == (128, 128)
    assert is_moved == bool(re.search(r"convert_layout %s\b", text))
    is_one = group == 64 and BN == 64 and not wraps
    assert is_one == bool(re.search(r" = load .* : f32$", text, re.M))


@tegula.jit
def scaled_by_columns(
    a_ptr, b_ptr, c_ptr, s_ptr, t_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A scale for each row and column, one beside the other in memory."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    s_ptrs, t_ptrs = s_ptr + m, t_ptr + n
    acc = tl.zeros((BM, BN), tl.float32)
    for x in range(K // BK):
        a = tl.load(a_ptr + m[:, None] * K + (x * BK + k)[None, :])
        b = tl.load(b_ptr + n[None, :] * K + (x * BK + k)[:, None])
        s, t = tl.load(s_ptrs), tl.load(t_ptrs)
        s_ptrs += M
        t_ptrs += N
        acc += tl.dot(a, b).to(tl.float32) * s[:, None] * t[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def test_moves_beside_a_product(rng: np.random.Generator) -> None:
    """Places alternate though rings take more than the soft limit, so a move has one
    barrier; it stands behind what begins the product."""
    M, N, K, BK = 128, 128, 512, 128
    a, b = (rng.integers(-8, 9, (side, K)).astype(np.float16) for side in (M, N))
    s = rng.choice([0.25, 0.5, 1, 2], (K // BK, M)).astype(np.float32)
    t = rng.choice([0.25, 0.5, 1, 2], (K // BK, N)).astype(np.float32)
    c = put(np.full((M, N), np.nan, np.float32))
    run = scaled_by_columns[(1, 1)](
        put(a), put(b), c, put(s), put(t), M, N, K, BM=M, BN=N, BK=BK, num_warps=8,
        num_stages=3, hopper="3",
    )  # fmt: skip
    by_k = a.astype(np.float64) * s.T.repeat(BK, axis=1)
    by_n = b.astype(np.float64) * t.T.repeat(BK, axis=1)
    np.testing.assert_array_equal(c.numpy(), by_k @ by_n.T)
    lines = run.asm["simt"].partition("roles {")[2].splitlines()
    order = [
        i for i, line in enumerate(lines) if "mma_start" in line or "mma_wait" in line
    ]
    moves = [line for line in lines[order[0] : order[1]] if "convert_layout" in line]
    assert len(order) == 2 and len(moves) == 2
    assert all("wait=written)" in line for line in moves)
