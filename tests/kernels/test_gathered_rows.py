"""Rows picked by numbers that were loaded: products of experts, embeddings, caches.

Addresses of such rows are computed where the accesses want them: only the numbers of the
rows move between threads, once, and not the addresses of a whole block, in every turn of a
loop. `shared` says so: it would hold them.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def expert_kernel(
    x,
    w,
    y,
    tokens,
    n_tokens,
    K,
    x_row,
    w_row,
    y_row,
    TOP: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    BK: tl.constexpr,
):
    t = tl.load(tokens + tl.program_id(0) * M + tl.arange(0, M))
    is_one = t < n_tokens
    n = tl.arange(0, N)
    k = tl.arange(0, BK)
    xs = x + (t[:, None] // TOP * x_row + k[None, :])
    ws = w + k[:, None] * w_row + n[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        a = tl.load(xs, mask=is_one[:, None] & (k[None, :] < K - i * BK), other=0.0)
        b = tl.load(ws, mask=k[:, None] < K - i * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        xs += BK
        ws += BK * w_row
    tl.store(y + y_row * t[:, None] + n[None, :], acc, mask=is_one[:, None])


@pytest.mark.parametrize("K", [64, 96, 104])
def test_experts(device, K):
    rng = np.random.default_rng(K)
    T, N, M = 50, 32, 16
    x = rng.integers(-3, 4, (T, K)).astype(np.float16)
    w = rng.integers(-3, 4, (K, N)).astype(np.float16)
    tokens = rng.permutation(np.arange(2 * T + 12)).astype(
        np.int32
    )  # from 2 * T on: none
    y = np.full((2 * T, N), -1.0, np.float32)
    X, W, Y, I = map(device.put, (x, w, y, tokens))
    args = X, W, Y, I, 2 * T, K, K, N, N
    expert_kernel[(len(tokens) // M,)](*args, TOP=2, M=M, N=N, BK=32)
    want = np.repeat(x.astype(np.float32) @ w.astype(np.float32), 2, axis=0)
    np.testing.assert_array_equal(device.get(Y), want)


@triton.jit
def rows_kernel(x, rows, y, width, n_rows, M: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    r = tl.load(rows + i).to(tl.int64)
    ok = (r < n_rows)[:, None] & (d < width)[None, :]
    v = tl.load(x + r[:, None] * width + d[None, :], mask=ok, other=-7.0)
    # Written by other rows than it was read by, and once more in place.
    tl.store(y + (n_rows - 1 - r)[:, None] * width + d[None, :], v + v, mask=ok)


@pytest.mark.parametrize("width", [33, 64, 100])  # odd: no vectors, rows all the same
def test_rows_out_and_in(device, width):
    rng = np.random.default_rng(width)
    n = 61
    x = rng.standard_normal((n, width)).astype(np.float32)
    rows = rng.permutation(np.arange(64)).astype(np.int32)
    y = np.zeros((n, width), np.float32)
    X, R, Y = map(device.put, (x, rows, y))
    rows_kernel[(4,)](X, R, Y, width, n, M=16, D=128)
    np.testing.assert_array_equal(device.get(Y), (x + x)[::-1])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_addresses_do_not_move(arch):
    c = rows_kernel.compile(
        x="*fp32",
        rows="*i32:16",
        y="*fp32",
        width="i32",
        n_rows="i32",
        M=128,
        D=128,
        target=f"cuda:{arch}",
        num_warps=8,
    )
    assert c.metadata.shared <= 4096, "128 x 128 addresses are 128 KiB"
    strides = dict.fromkeys(("K", "x_row", "w_row", "y_row"), "i32:16")
    c = expert_kernel.compile(
        x="*fp16:16",
        w="*fp16:16",
        y="*fp32:16",
        tokens="*i32:16",
        n_tokens="i32",
        **strides,
        TOP=2,
        M=64,
        N=64,
        BK=32,
        target=f"cuda:{arch}",
    )
    moves = [x for x in c.asm["simt"].splitlines() if "convert_layout" in x]
    assert moves
    assert not [x for x in moves if re.search(r"ptr<\w+>\[\d\d+, \d\d+\]", x)]
