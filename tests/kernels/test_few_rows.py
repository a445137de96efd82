"""Products of a few rows in blocks of many: CPUs compute what no tile has one by one
(codegen/host/dot.c), where masks drop columns and K as well."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def linear(
    x_ptr, w_ptr, y_ptr, M, N, K, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, TURNED: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.full((BM, BN), 2, ACC)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x_mask = (m < M)[:, None] & (k < K)[None, :]
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=x_mask, other=0)
        w_mask = (k < K)[:, None] & (n < N)[None, :]
        if TURNED:
            w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=w_mask, other=0)
        else:
            w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=w_mask, other=0)
        acc = tl.dot(x, w, acc, input_precision="ieee", out_dtype=ACC)
    at = y_ptr + m[:, None] * N + n[None, :]
    tl.store(at, acc, mask=(m < M)[:, None] & (n < N)[None, :])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("BM", [16, 32, 64])
@pytest.mark.parametrize("N", [64, 100, 130])
def test_each_number_of_rows(rng, dtype, BM, N, turned):
    """The first launch checks accesses, as all do; both give what NumPy does."""
    K, is_int = 70, dtype == "int8"
    acc = tl.int32 if is_int else tl.float32
    w = rng.integers(-4, 5, (N, K) if turned else (K, N)).astype(dtype)
    for M in [*range(1, BM + 2), 2 * BM - 1] if BM < 64 else (1, 7, 59, 61, 63, 67):
        x = rng.integers(-4, 5, (M, K)).astype(dtype)
        y = np.full((M, N), 99, np.int32 if is_int else np.float32)
        grid = (tegula.cdiv(M, BM), tegula.cdiv(N, 64))
        for _ in range(2):
            linear[grid](x, w, y, M, N, K, acc, BM, 64, 32, turned)
        want = x.astype(np.int64) @ (w.T if turned else w).astype(np.int64) + 2
        np.testing.assert_array_equal(y, want)
