"""Sums that a loop adds up: across rows, columns, all; scaled, as softmax does."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def sums_kernel(
    x_ptr,
    out_ptr,
    n,
    M: tl.constexpr,
    N: tl.constexpr,
    AXIS: tl.constexpr,
    UNROLL: tl.constexpr = 1,
):
    """Of n blocks [M, N], one after the other, UNROLL an iteration."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.sum(tl.zeros((M, N), out_ptr.dtype.element_ty), axis=AXIS)
    for i in tl.range(n, loop_unroll_factor=UNROLL):
        x = tl.load(x_ptr + i * (M * N) + at)
        total += tl.sum(x, axis=AXIS)
    if AXIS is None:
        tl.store(out_ptr, total)
    else:
        tl.store(out_ptr + tl.arange(0, N if AXIS == 0 else M), total)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 64), (32, 32), (8, 256), (128, 2)], ids=str)
def test_sums(device, rng, axis, dtype, shape):
    m, n = shape
    for blocks, warps in ((0, 4), (1, 1), (5, 8)):
        x = (rng.standard_normal((blocks, m, n)) * 100).astype(dtype)
        count = 1 if axis is None else n if axis == 0 else m
        out = device.poison((count,), dtype)
        memory = device.put(x if blocks else np.zeros((1, m, n), dtype))
        sums_kernel[(1,)](memory, out, blocks, m, n, axis, num_warps=warps)
        over = (0, 1, 2) if axis is None else (0, axis + 1)
        want = x.astype(np.float64).sum(axis=over)
        tol = {"int32": 0, "float32": 2e-2, "float64": 1e-10}[dtype]
        np.testing.assert_allclose(device.get(out), np.ravel(want), rtol=0, atol=tol)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_unrolled_sums(device, rng, axis, dtype):
    for blocks, m, n, warps in ((2, 32, 32, 1), (7, 32, 32, 4), (6, 8, 64, 8)):
        x = (rng.standard_normal((blocks, m, n)) * 100).astype(dtype)
        out = device.poison((1 if axis is None else (m, n)[1 - axis],), dtype)
        sums_kernel[(1,)](device.put(x), out, blocks, m, n, axis, 3, num_warps=warps)
        over = (0, 1, 2) if axis is None else (0, axis + 1)
        want = np.ravel(x.astype(np.float64).sum(axis=over))
        tol = {"int32": 0, "float32": 2e-2}[dtype]
        np.testing.assert_allclose(device.get(out), want, rtol=0, atol=tol)


@triton.jit
def log_sum_exp_kernel(x_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    peak = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    for start in range(0, n, N):
        cols = start + tl.arange(0, N)
        mask = (rows[:, None] >= 0) & (cols[None, :] < n)
        x = tl.load(x_ptr + rows[:, None] * n + cols[None, :], mask, -float("inf"))
        new_peak = tl.maximum(peak, tl.max(x, axis=1))
        shrink = tl.exp(peak - new_peak)
        total = total * shrink + tl.sum(tl.exp(x - new_peak[:, None]), axis=1)
        peak = new_peak
    tl.store(out_ptr + rows, peak + tl.log(total))


@pytest.mark.parametrize("n", [1, 31, 64, 200])
@pytest.mark.parametrize("warps", [1, 4])
def test_log_sum_exp(device, rng, n, warps):
    """Also a row whose later peaks make everything before vanish."""
    x = rng.standard_normal((16, n), np.float32) * 5
    x[3] = np.linspace(-300, 300, n)
    out = device.poison((16,), np.float32)
    log_sum_exp_kernel[(1,)](device.put(x), out, n, 16, 32, num_warps=warps)
    want = np.log(np.exp(x.astype(np.float64) - x.max()).sum(axis=1)) + x.max()
    want[3] = np.log(np.exp(x[3].astype(np.float64) - x[3].max()).sum()) + x[3].max()
    np.testing.assert_allclose(device.get(out), want, rtol=1e-5, atol=1e-4)
