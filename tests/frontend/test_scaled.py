"""dot_scaled against NumPy, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def e2m1(codes: np.ndarray) -> np.ndarray:
    return np.where(codes & 8, -1, 1) * E2M1[codes & 7]


def e5m2(codes: np.ndarray) -> np.ndarray:
    return (codes.astype(np.uint16) << 8).view(np.float16).astype(np.float32)


@tegula.jit
def product(a, b, sa, sb, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            LHS: tl.constexpr, RHS: tl.constexpr, K_PACK: tl.constexpr):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    g = tl.arange(0, K // 32)
    if LHS == "e2m1" and K_PACK:
        kp = tl.arange(0, K // 2)
        x = tl.load(a + m[:, None] * (K // 2) + kp[None, :])
    elif LHS == "e2m1":
        mp = tl.arange(0, M // 2)
        x = tl.load(a + mp[:, None] * K + k[None, :])
    else:
        x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    lhs_scale = tl.load(sa + m[:, None] * (K // 32) + g[None, :])
    if RHS == "fp16":
        r = tl.dot_scaled(x, lhs_scale, LHS, y, None, RHS, lhs_k_pack=K_PACK)
    else:
        rhs_scale = tl.load(sb + n[:, None] * (K // 32) + g[None, :])
        acc = tl.full([M, N], 1.0, tl.float32)
        r = tl.dot_scaled(x, lhs_scale, LHS, y, rhs_scale, RHS, acc, lhs_k_pack=K_PACK)
    tl.store(out + m[:, None] * N + n[None, :], r)


@pytest.mark.parametrize(
    "lhs,rhs", [("e2m1", "e5m2"), ("e5m2", "fp16"), ("e2m1", "fp16")]
)
@pytest.mark.parametrize("k_pack", [True, False])
def test_dot_scaled(run: Any, lhs: str, rhs: str, k_pack: bool) -> None:
    m, n, k = 32, 16, 64
    r = np.random.default_rng(3)
    sa = r.integers(122, 131, (m, k // 32)).astype(np.uint8)
    sb = r.integers(122, 131, (n, k // 32)).astype(np.uint8)
    if lhs == "e2m1":
        codes = r.integers(0, 16, (m, k)).astype(np.uint8)
        left = e2m1(codes)
        half = codes[:, ::2] | codes[:, 1::2] << 4
        a = half if k_pack else codes[::2] | codes[1::2] << 4
    else:
        a = r.integers(0, 0x4C, (m, k)).astype(np.uint8)
        left = e5m2(a)
    left = left * np.repeat(np.exp2(sa.astype(np.float32) - 127), 32, 1)
    if rhs == "fp16":
        b = r.integers(-8, 9, (k, n)).astype(np.float16)
        right, start = b.astype(np.float32), 0.0
    else:
        b = r.integers(0x30, 0x48, (k, n)).astype(np.uint8)
        scale = np.repeat(np.exp2(sb.astype(np.float32) - 127), 32, 1).T
        right, start = e5m2(b) * scale, 1.0
    out = np.zeros((m, n), np.float32)
    run(product, a, b, sa, sb, out, M=m, N=n, K=k, LHS=lhs, RHS=rhs, K_PACK=k_pack)
    np.testing.assert_allclose(out, left @ right + start, rtol=1e-5, atol=1e-5)
