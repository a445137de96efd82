"""Scales and zeros that a group of rows shares are loaded once for all of them."""

import re

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def dequantise(
    q_ptr,
    s_ptr,
    z_ptr,
    y_ptr,
    K,
    N,
    GROUP: tl.constexpr,
    M: tl.constexpr,
    W: tl.constexpr,
):
    """AWQ's words, a scale and a zero for GROUP rows; K need not be a multiple of M."""
    k = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * W + tl.arange(0, W)
    inside = (k < K)[:, None]
    shift = (n % 8 * 4)[None, :]
    of = (k // GROUP)[:, None]
    q = tl.load(q_ptr + k[:, None] * (N // 8) + (n // 8)[None, :], mask=inside)
    z = tl.load(z_ptr + of * (N // 8) + (n // 8)[None, :])
    s = tl.load(s_ptr + of * N + n[None, :])
    y = (((q >> shift) & 15) - ((z >> shift) & 15)).to(tl.float32) * s
    tl.store(y_ptr + k[:, None] * N + n[None, :], y, mask=inside)


@pytest.mark.parametrize("group", [8, 16, 32, 128])
@pytest.mark.parametrize("m", [16, 32])
def test_groups(device, rng, group, m):
    """Blocks of a part of a group, of one and of several."""
    K, N, W = 120, 64, 32
    groups = -(-128 // group)
    q = rng.integers(0, 1 << 31, (K, N // 8), np.int32)
    z = rng.integers(0, 1 << 31, (groups, N // 8), np.int32)
    s = rng.normal(size=(groups, N)).astype(np.float32)
    y = device.poison(K * N, np.float32)
    grid = (-(-K // m), N // W)
    dequantise[grid](
        device.put(q), device.put(s), device.put(z), y, K, N, GROUP=group, M=m, W=W
    )
    k, n = np.arange(K), np.arange(N)
    bits = [(w[:, n // 8] >> (n % 8 * 4)) & 15 for w in (q, z)]
    want = (bits[0] - bits[1][k // group]) * s[k // group]
    np.testing.assert_allclose(device.get(y).reshape(K, N), want, rtol=1e-6)


def loads(group: int) -> int:
    made = dequantise.compile(
        "*i32:16", "*fp32:16", "*i32:16", "*fp32:16", "i32:16", "i32:16",
        GROUP=group, M=32, W=32, num_warps=1, target="cuda:sm_90a",
    )  # fmt: skip
    return len(re.findall(r"\bld\.global", made.asm["ptx"]))


def test_a_row_is_loaded_once():
    """Of 32 rows and columns by a warp, 8 or 2 vectors of scales, and as many zeros."""
    assert loads(128) * 2 < loads(8)
