"""Sums of a product that several programs share: each adds its part by atomics."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def split_k(
    a_ptr, b_ptr, c_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, CUT: tl.constexpr = 0,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, K, BK * tl.num_programs(2)):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.atomic_add(
        c_ptr + m[:, None] * N + n[None, :],
        acc.to(c_ptr.dtype.element_ty),
        mask=(n < N - CUT)[None, :] if CUT else None,
        sem="relaxed",
    )


@pytest.mark.parametrize("bm, bn, warps", [(32, 128, 4), (16, 64, 4), (64, 64, 4)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_sums(device, rng, dtype, bm, bn, warps):
    """sm_90 moves sums to whole lines before it adds them, those of turned products too."""
    M, N, K = 2 * bm, bn, 256
    a, b = (rng.integers(-2, 3, s).astype(np.float16) for s in ((M, K), (K, N)))
    c = rng.integers(-9, 9, (M, N)).astype(dtype)
    out = device.put(c)
    split_k[(2, 1, 2)](
        device.put(a), device.put(b), out, N, K, bm, bn, 64, CUT=3, num_warps=warps
    )
    want = c + np.where(np.arange(N) < N - 3, a.astype(int) @ b.astype(int), 0)
    np.testing.assert_array_equal(device.get(out), want.astype(dtype))


@pytest.mark.parametrize("rows, warps", [(32, 4), (64, 4), (128, 8)])
@pytest.mark.parametrize(
    "dtype, name", [("bf16", ".noftz.v4.bf16x2"), ("fp32", ".v4.f32")]
)
def test_sums_move_first(dtype, name, rows, warps):
    """A product's sums lie in pieces of rows, and turned ones across. By 32x128 in bf16
    they were added one by one, 971 us for 77."""
    given = ("*bf16:16", "*bf16:16", f"*{dtype}:16", "i32:16", "i32:16")
    blocks = {"BM": rows, "BN": 128, "BK": 64, "num_warps": warps}
    c = split_k.compile(*given, **blocks, target="cuda:sm_90a")
    n = rows * 128 * (2 if dtype == "bf16" else 4) // 16 // (32 * warps)
    sums = re.findall(r"\b(?:red|atom)\.[\w.:]+", c.asm["ptx"])
    assert sums == [f"red.relaxed.gpu.global.add{name}"] * n
