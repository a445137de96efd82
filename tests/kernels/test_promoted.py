"""Loads through plain pointers that are blocks of tensors: copied by tensor maps, with the
very result that the pointers give, and left alone where that cannot be said."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

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


# ---- many kernels, by pointers and by maps -------------------------------------------

HEAD = """\
def product(a_ptr, b_ptr, c_ptr, M, N, K, sam, sbk, batch, shift):
    pm, pn, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m, n, k = tl.arange(0, {BM}), tl.arange(0, {BN}), tl.arange(0, {BK})
    acc = tl.zeros(({BM}, {BN}), tl.float32)
"""
TAIL = """\
    i, j = pm * {BM} + m, pn * {BN} + n
    c = c_ptr + z * M * N + i[:, None] * N + j[None, :]
    tl.store(c, acc, mask=(i[:, None] < M) & (j[None, :] < N))
"""


def kernel_text(r: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """A product whose loads are written one way of many, and what it is."""

    def one_of(*words: str) -> str:
        return str(words[r.integers(len(words))])

    s: dict[str, Any] = {
        "BM": 16,
        "BN": int(one_of("16", "32")),
        "BK": int(one_of("16", "32")),
    }
    masked_k, carried = bool(r.integers(2)), bool(r.integers(2))
    rows = one_of(
        "pm * {BM} + m",
        "(pm * {BM} + m) % M",
        "m + {BM} * pm",
        "pm * {BM} + m - 1",
        "pm * {BM} + m + shift",
        "(pm * {BM} + m + shift) % M",
        "M - 1 - m",
    )
    at_a = one_of("", " + z * batch", " + z * batch", " + z * (M * sam)")
    mask_a = one_of(
        "",
        "i[:, None] < M",
        "(i[:, None] < M) & (i[:, None] >= 0)",
        "i[:, None] <= M - 1",
        "M > i[:, None]",
        "m[:, None] < M - pm * {BM}",
        "pm * {BM} + m[:, None] < M",
    )
    cols = one_of("pn * {BN} + n", "(pn * {BN} + n) % N")
    step = one_of("k0", "turn")
    text = HEAD
    text += f"    i = {rows}\n    j = {cols}\n"
    text += "    a = a_ptr + (i[:, None] * sam + k[None, :])" + at_a + "\n"
    text += "    b = b_ptr + k[:, None] * sbk + j[None, :]\n"
    if step == "k0":
        text += "    for k0 in range(0, K, {BK}):\n"
        ahead = "k0"
    else:
        text += "    for turn in range(tl.cdiv(K, {BK})):\n"
        ahead = "turn * {BK}"
    pa, pb = ("a", "b") if carried else (f"a + {ahead}", f"b + {ahead} * sbk")
    k_a, k_b = f"k[None, :] < K - {ahead}", f"k[:, None] + {ahead} < K"
    masks_a = [m for m in (mask_a, k_a if masked_k else "") if m]
    mask = " & ".join(f"({m})" for m in masks_a)
    text += (
        f"        x = tl.load({pa}"
        + (f", mask={mask}, other=0.0" if mask else "")
        + ")\n"
    )
    text += (
        f"        y = tl.load({pb}"
        + (f", mask={k_b}, other=0.0" if masked_k else "")
        + ")\n"
    )
    text += "        acc = tl.dot(x, y, acc)\n"
    if carried:
        text += "        a += {BK}\n        b += {BK} * sbk\n"
    text += TAIL
    s["masked_k"] = masked_k
    return text.format(**s), s


def make(text: str, name: str) -> Any:
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"tl": tl}
    exec(compile(text, file, "exec"), space)
    return tegula.jit(space["product"])


def run_random(seed: int) -> int:
    """The kernel by pointers, and by tensor maps; how many loads had one."""
    r = np.random.default_rng(seed)
    text, s = kernel_text(r)
    BM, BN, BK = s["BM"], s["BN"], s["BK"]
    M, N = int(r.choice([16, 32, 48, 24])), int(r.choice([32, 64, 40]))
    K = (
        int(r.choice([BK, 3 * BK, 40, 24]))
        if s["masked_k"]
        else int(r.choice([BK, 3 * BK]))
    )
    shift, Z = int(r.choice([0, 0, BM, 3, -2])), 2
    room = (
        64  # in front of a, behind it and between batches: what a kernel reads is there
    )
    sam, sbk = -(-K // 8) * 8 + 8 * int(r.integers(3)), -(-N // 8) * 8
    batch = -(-(M + room) * sam // 8) * 8
    whole = (r.integers(-4, 5, (Z * batch + 2 * room * sam,)) / 4).astype(np.float16)
    b = (r.integers(-4, 5, ((K + BK) * sbk + room,)) / 4).astype(np.float16)
    grid, out = (tegula.cdiv(M, BM), tegula.cdiv(N, BN), Z), []
    kernel = make(text, f"promoted {seed}")
    n_maps = 0
    for hopper in ("2", "3,all"):
        a = put(whole)
        c = put(np.full((Z, M, N), np.nan, np.float32))
        run = kernel[grid](
            a[room * sam :], put(b), c, M, N, K, sam, sbk, batch, shift,
            num_warps=4, hopper=hopper,
        )  # fmt: skip
        out.append(c.numpy().copy())
        n_maps = maps_of(run)
    np.testing.assert_array_equal(
        out[0], out[1], err_msg=f"seed {seed}\n{text}\n{run.report}"
    )
    return n_maps


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random(first: int) -> None:
    counts = [run_random(seed) for seed in range(first, first + 10)]
    assert sum(counts) >= 5  # what is refused proves nothing
