"""Fused row softmax: masked, any width up to 65536."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    denominator = tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_stride + cols, numerator / denominator, mask=mask)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("width", [1, 31, 33, 781, 1000, 1024, 4096, 65536])
@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_widths(device, rng, width, num_warps):
    if width == 65536 and num_warps < 8:
        pytest.skip("2048 registers a thread")
    if device.is_emulated and num_warps * width > 8 * 4096 and width != 65536:
        pytest.skip("slow to emulate")
    rows = 2 if device.is_emulated else 7
    x = rng.standard_normal((rows, width), dtype=np.float32) * 3
    out = device.poison(x.shape, np.float32)
    softmax_kernel[(rows,)](
        out,
        device.put(x),
        width,
        width,
        width,
        BLOCK=triton.next_power_of_2(width),
        num_warps=num_warps,
    )
    np.testing.assert_allclose(device.get(out), softmax(x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_dtypes(device, rng, dtype):
    x = rng.standard_normal((3, 500)).astype(dtype)
    out = device.poison(x.shape, dtype)
    softmax_kernel[(3,)](out, device.put(x), 500, 500, 500, BLOCK=512)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(device.get(out), softmax(x), rtol=8 * eps, atol=eps / 4)


def test_strides(device, rng):
    x = rng.standard_normal((4, 100), dtype=np.float32)
    out = device.poison((4, 128), np.float32)
    softmax_kernel[(4,)](out, device.put(x), 100, 128, 77, BLOCK=128)
    got = device.get(out)
    np.testing.assert_allclose(got[:, :77], softmax(x[:, :77]), rtol=1e-5, atol=1e-7)
    assert np.isnan(got[:, 77:]).all()


@triton.jit
def softmax_2d_kernel(
    out_ptr, in_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    offsets = rows[:, None] * n_cols + cols[None, :]
    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    x = tl.load(in_ptr + offsets, mask=mask, other=-float("inf"))
    # Rows that do not exist are all -inf; keep their maximum finite.
    top = tl.maximum(tl.max(x, axis=1), -1e30)
    e = tl.exp(x - top[:, None])
    tl.store(out_ptr + offsets, e / tl.sum(e, axis=1)[:, None], mask=mask)


@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (16, 64), (9, 200)])
@pytest.mark.parametrize("rows", [1, 4, 8])
def test_several_rows_a_program(device, rng, shape, rows):
    x = rng.standard_normal(shape, dtype=np.float32)
    out = device.poison(shape, np.float32)
    softmax_2d_kernel[(triton.cdiv(shape[0], rows),)](
        out, device.put(x), *shape, ROWS=rows, BLOCK=triton.next_power_of_2(shape[1])
    )
    np.testing.assert_allclose(device.get(out), softmax(x), rtol=1e-5, atol=1e-7)
