"""Layer norm forward; RMS norm with a loop over a long row."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    y_ptr += row * stride
    x_ptr += row * stride
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / n
    var = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
        x = tl.where(cols < n, x - mean, 0.0)
        var += x * x
    rstd = 1 / tl.sqrt(tl.sum(var, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < n
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


@pytest.mark.parametrize("n", [1, 31, 33, 1000, 1024])
@pytest.mark.parametrize("block", [128, 1024])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_layer_norm(device, rng, n, block, dtype):
    rows = 3
    x = rng.standard_normal((rows, n)).astype(dtype)
    w, b = rng.standard_normal((2, n)).astype(dtype)
    y, mean, rstd = (
        device.poison((rows, n), dtype),
        device.poison(rows, np.float32),
        device.poison(rows, np.float32),
    )
    layer_norm_kernel[(rows,)](
        device.put(x),
        y,
        device.put(w),
        device.put(b),
        mean,
        rstd,
        n,
        n,
        1e-5,
        BLOCK=block,
    )
    d = x.astype(np.float64)
    mu = d.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt(d.var(axis=1, keepdims=True) + 1e-5)
    expected = (d - mu) * scale * w + b
    tol = 1e-2 if dtype == np.float16 else 2e-5
    np.testing.assert_allclose(device.get(y), expected, rtol=tol, atol=tol)
    np.testing.assert_allclose(device.get(mean), mu[:, 0], atol=1e-5)
    np.testing.assert_allclose(device.get(rstd), scale[:, 0], rtol=1e-4)


@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares) / n + eps)
    for start in tl.range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
        y = x.to(tl.float32) * scale * w
        tl.store(y_ptr + row * n + cols, y.to(y_ptr.dtype.element_ty), mask=cols < n)


@pytest.mark.parametrize("n", [1, 33, 1000, 65536])
def test_rms_norm(device, rng, n):
    rows = 2
    x = rng.standard_normal((rows, n), dtype=np.float32)
    w = rng.standard_normal(n, dtype=np.float32)
    y = device.poison((rows, n), np.float32)
    rms_norm_kernel[(rows,)](device.put(x), device.put(w), y, n, 1e-6, BLOCK=1024)
    d = x.astype(np.float64)
    expected = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-6) * w
    np.testing.assert_allclose(device.get(y), expected, rtol=2e-5, atol=1e-6)
