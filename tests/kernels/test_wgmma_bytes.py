"""Products by warpgroups of float8 and of int8, run as PTX: both operands run along K."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"

# What 0 to 4 are; a sign is bit 7.
CODES = {
    "e4m3": np.array([0x00, 0x38, 0x40, 0x44, 0x48], np.uint8),
    "e5m2": np.array([0x00, 0x3C, 0x40, 0x42, 0x44], np.uint8),
}
TYPES = {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "s8": tl.int8}


@tegula.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, sbk, sbn, A: tl.constexpr, B: tl.constexpr,
    ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ADDED: tl.constexpr = False,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr.to(tl.pointer_type(A)) + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr.to(tl.pointer_type(B)) + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - k0), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - k0) & (n[None, :] < N), other=0.0)
        if ADDED:
            acc += tl.dot(a, b, out_dtype=ACC)
        else:
            acc = tl.dot(a, b, acc, out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK * sbk
    tl.store(
        c_ptr + m[:, None] * N + n[None, :],
        acc,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@tegula.jit
def chained(a_ptr, b_ptr, v_ptr, c_ptr, n, T: tl.constexpr, ACC: tl.constexpr):
    """sum over blocks of (A @ B_i) @ V_i, in T: the second A is computed."""
    m, k, j = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    pointer: tl.constexpr = tl.pointer_type(T)
    a = tl.load(a_ptr.to(pointer) + m[:, None] * 64 + k[None, :])
    acc = tl.zeros((64, 64), dtype=ACC)
    for i in range(0, n, 64):
        b = tl.load(b_ptr.to(pointer) + (i + j)[None, :] * 64 + k[:, None])
        v = tl.load(v_ptr.to(pointer) + k[None, :] * n + (i + j)[:, None])
        acc = tl.dot(tl.dot(a, b, out_dtype=ACC).to(T), v, acc, out_dtype=ACC)
    tl.store(c_ptr + m[:, None] * 64 + k[None, :], acc)


def whole_numbers(seed: int, most: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(np.int8)


def coded(x: np.ndarray, kind: str) -> np.ndarray:
    """What x is in memory."""
    if kind == "s8":
        return x
    return CODES[kind][np.abs(x)] | np.where(x < 0, np.uint8(0x80), np.uint8(0))


def run_matmul(
    sides: tuple[int, int, int],
    block: tuple[int, int, int],
    kinds: tuple[str, str] = ("e4m3", "e4m3"),
    runs_along_k: bool = True,
    **options: Any,
) -> Any:
    (m, n, k), (bm, bn, bk) = sides, block
    a, b = whole_numbers(1, 4, m, k), whole_numbers(2, 4, k, n)
    out, acc = (np.int32, tl.int32) if kinds[0] == "s8" else (np.float32, tl.float32)
    lies = coded(b, kinds[1])
    if runs_along_k:
        lies = np.ascontiguousarray(lies.T)
    arrays = coded(a, kinds[0]), lies, np.full((m, n), 99, out)
    there = [simulated.put(x, TARGET) for x in arrays]
    strides = (1, k) if runs_along_k else (n, 1)
    compiled = matmul[-(-m // bm), -(-n // bn)](
        *there, m, n, k, *strides, A=TYPES[kinds[0]], B=TYPES[kinds[1]], ACC=acc,
        BM=bm, BN=bn, BK=bk, **options,
    )  # fmt: skip
    want = a.astype(np.int64) @ b.astype(np.int64)
    np.testing.assert_array_equal(there[2].numpy(), want)
    return compiled


ALIKE = [("e4m3", "e4m3"), ("e5m2", "e5m2"), ("s8", "s8")]


@pytest.mark.parametrize("hopper", ["2,0", "2,1"])
@pytest.mark.parametrize("kinds", [*ALIKE, ("e4m3", "e5m2"), ("e5m2", "e4m3")])
def test_by_threads(kinds, hopper):
    c = run_matmul((100, 72, 176), (64, 64, 64), kinds, num_warps=4, hopper=hopper)
    acc = "s32" if kinds[0] == "s8" else "f32"
    assert f"m64n64k32.{acc}.{kinds[0]}.{kinds[1]}" in c.asm["ptx"]
    assert "mma.sync" not in c.asm["ptx"] and "level 2" in c.report


@pytest.mark.parametrize(
    ("block", "warps", "instruction"),
    [
        ((128, 256, 128), 8, "m64n256k32"),
        ((64, 256, 32), 8, "m64n128k32"),  # two warpgroups share the columns
        ((256, 64, 64), 4, "m64n64k32"),  # one has four tiles of rows
        ((64, 16, 128), 4, "m64n16k32"),
        ((16, 64, 256), 4, "m64n16k32"),  # B^T A^T
    ],
)
@pytest.mark.parametrize("kinds", ALIKE[::2])
@pytest.mark.parametrize("hopper", ["2", "3"])
def test_shares(block, warps, instruction, kinds, hopper):
    sides = (block[0], block[1] - 8, 2 * block[2] + 16)
    c = run_matmul(sides, block, kinds, num_warps=warps, hopper=hopper)
    assert f"wgmma.mma_async.sync.aligned.{instruction}." in c.asm["ptx"]
    assert f"level {hopper}" in c.report


@pytest.mark.parametrize("block_k", [32, 64, 128, 256])
@pytest.mark.parametrize("kinds", ALIKE)
def test_by_roles(kinds, block_k):
    """Lines of 32 to 128 bytes, more than a line, and what whole_lines joins."""
    c = run_matmul((200, 264, 336), (128, 128, block_k), kinds, num_warps=8)
    assert "level 3" in c.report
    assert ("at once" in c.report) == (block_k < 128)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("kind", ["e4m3", "e5m2", "s8"])
def test_a_in_registers(kind, warps):
    n = 128
    a, b, v = (
        whole_numbers(i, 1, *shape) * mask
        for i, (shape, mask) in enumerate(
            [
                ((64, 64), np.arange(64) % 16 == 0),  # sums of at most 4 are exact
                ((n, 64), np.int8(1)),
                ((64, n), np.int8(1)),
            ]
        )
    )
    out = np.int32 if kind == "s8" else np.float32
    arrays = *(coded(x, kind) for x in (a, b, v)), np.zeros((64, 64), out)
    there = [simulated.put(x, TARGET) for x in arrays]
    c = chained[1,](
        *there, n, T=TYPES[kind], num_warps=warps, num_stages=2,
        ACC=tl.int32 if kind == "s8" else tl.float32,
    )  # fmt: skip
    a, b, v = (x.astype(np.int64) for x in (a, b, v))
    np.testing.assert_array_equal(there[3].numpy(), a @ b.T @ v.T)
    assert "wgmma.mma_async" in c.asm["ptx"] and "mma.sync" not in c.asm["ptx"]


@pytest.mark.parametrize("kinds", ALIKE)
def test_what_does_not_run_along_k(kinds):
    c = run_matmul((100, 80, 96), (64, 64, 32), kinds, False, num_warps=4)
    assert "wgmma" not in c.asm["ptx"]
    assert "level 1, no wgmma: wgmma takes 8-bit operands that run along K" in c.report


@tegula.jit
def scaled_by_blocks(
    a_ptr, b_ptr, c_ptr, sa_ptr, sb_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, LATE: tl.constexpr,
):  # fmt: skip
    """Each block of K of a row of A and of 32 columns of B has a scale."""
    m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    blocks = tl.cdiv(K, BK)
    a_ptrs = a_ptr.to(tl.pointer_type(tl.float8e4nv)) + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr.to(tl.pointer_type(tl.float8e4nv)) + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(blocks):
        a = tl.load(a_ptrs, mask=k[None, :] < K - i * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - i * BK, other=0.0)
        if LATE:
            p = tl.dot(a, b)
            sa = tl.load(sa_ptr + m * blocks + i)
            sb = tl.load(sb_ptr + n // 32 * blocks + i)
        else:
            sa = tl.load(sa_ptr + m * blocks + i)
            sb = tl.load(sb_ptr + n // 32 * blocks + i)
            p = tl.dot(a, b)
        acc += p * sa[:, None] * sb[None, :]
        a_ptrs += BK
        b_ptrs += BK
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    at = c_ptr + m[:, None] * N + n[None, :]
    tl.store(at, acc, (m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("hopper", ["2,0", "2,1", "3"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("sides", "block", "warps"),
    [
        ((64, 64, 192), (64, 64, 64), 4),
        ((96, 160, 208), (64, 128, 64), 4),
        ((200, 128, 64), (128, 128, 64), 8),  # one turn: nothing is loaded ahead
    ],
)
def test_scales_of_blocks(sides, block, warps, late, hopper):
    """The scales of an iteration are loaded during the one before."""
    (M, N, K), (bm, bn, bk) = sides, block
    blocks = -(-K // bk)
    a, b = whole_numbers(1, 4, M, K), whole_numbers(2, 4, N, K)
    sa = 2.0 ** whole_numbers(3, 3, M, blocks).astype(np.float32)
    sb = 2.0 ** whole_numbers(4, 3, N // 32, blocks).astype(np.float32)
    there = [simulated.put(coded(x, "e4m3"), TARGET) for x in (a, b)]
    c = simulated.put(np.full((M, N), np.nan, np.float32), TARGET)
    scales = [simulated.put(x, TARGET) for x in (sa, sb)]
    run = scaled_by_blocks[(-(-M // bm), -(-N // bn))](
        *there, c, *scales, M, N, K, BM=bm, BN=bn, BK=bk, LATE=late, num_warps=warps,
        hopper=hopper,
    )  # fmt: skip
    assert "wgmma" in run.asm["ptx"] and ("roles {" in run.asm["simt"]) == (
        hopper == "3"
    )
    assert "an iteration ahead, in registers" in run.report
    want = np.zeros((M, N))
    for i in range(blocks):
        k = slice(i * bk, (i + 1) * bk)
        part = a[:, k].astype(np.float64) @ b[:, k].astype(np.float64).T
        want += part * sa[:, i, None] * np.repeat(sb[:, i], 32)[None, :]
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float32))


def additions(compiled: Any) -> list[str]:
    return re.findall(r"\tadd(?:\.rn)?\.f32", compiled.asm["ptx"])


def test_a_sum_in_float32():
    """`acc +=` of float8 adds in float32, as in Triton; integers have one way to add."""
    c = run_matmul((64, 64, 256), (64, 64, 64), num_warps=4, ADDED=True)
    assert "wgmma" in c.asm["ptx"] and additions(c)
    c = run_matmul((64, 64, 256), (64, 64, 64), num_warps=4)
    assert not additions(c)
    c = run_matmul((64, 64, 256), (64, 64, 64), ("s8", "s8"), num_warps=4, ADDED=True)
    assert "open until the next iteration" in c.report


def test_two_sums_that_registers_do_not_hold():
    """Eight warps keep what four do not, but not twice as much."""
    c = run_matmul((128, 128, 256), (128, 128, 64), num_warps=4, ADDED=True)
    assert "wgmma" in c.asm["ptx"] and c.metadata.num_warps == 8 and additions(c)
    c = run_matmul((256, 128, 256), (256, 128, 64), num_warps=8, ADDED=True)
    assert "wgmma" not in c.asm["ptx"]
    assert "longer than max_num_imprecise_acc" in c.report


def test_eight_bits_of_other_kinds_are_not_for_wgmma():
    c = matmul.compile(
        "*u8:16", "*u8:16", "*fp32:16", "i32:16", "i32:16", "i32:16", "1", "i32:16",
        A=tl.float8e4b8, B=tl.float8e4b8, ACC=tl.float32, BM=64, BN=64, BK=32,
        target="cuda:sm_90a",
    )  # fmt: skip
    assert "wgmma" not in c.asm["ptx"] and "level 1, no wgmma" in c.report
