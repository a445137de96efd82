"""a * x + y in every dtype that has a NumPy twin, and in bf16 through torch."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def saxpy_kernel(x_ptr, y_ptr, out_ptr, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, a * x + y, mask=mask)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 33, 1000])
def test_floats(device, rng, dtype, n):
    x, y = rng.standard_normal((2, n)).astype(dtype)
    out = device.poison(n, dtype)
    saxpy_kernel[(triton.cdiv(n, 256),)](
        device.put(x), device.put(y), out, 2.5, n, BLOCK=256
    )
    # a is f32: with f16 blocks the arithmetic is f32, rounded once by the store.
    expected = 2.5 * x.astype(np.float64) + y.astype(np.float64)
    # Where a * x and y cancel, the error is that of the product.
    scale = 2.5 * np.abs(x.astype(np.float64)) + np.abs(y.astype(np.float64))
    assert np.all(np.abs(device.get(out) - expected) <= np.finfo(dtype).eps * scale)


@pytest.mark.parametrize("n", [1, 33, 1000])
def test_int32_wraps(device, rng, n):
    x, y = rng.integers(-(2**31), 2**31, (2, n)).astype(np.int32)
    out = device.poison(n, np.int32)
    saxpy_kernel[(triton.cdiv(n, 256),)](
        device.put(x), device.put(y), out, 3, n, BLOCK=256
    )
    np.testing.assert_array_equal(device.get(out), np.int32(3) * x + y)


@pytest.mark.parametrize("n", [1, 33, 1000])
def test_bf16(device, rng, n):
    torch = pytest.importorskip("torch")
    x, y = torch.from_numpy(rng.standard_normal((2, n))).to(torch.bfloat16)
    where = "cuda" if device.target == "cuda" else "cpu"
    out = torch.full((n,), float("nan"), dtype=torch.bfloat16, device=where)
    saxpy_kernel[(triton.cdiv(n, 256),)](
        x.to(where), y.to(where), out, 2.5, n, BLOCK=256
    )
    expected = (2.5 * x.float() + y.float()).to(torch.bfloat16)
    torch.testing.assert_close(out.cpu(), expected, rtol=2**-8, atol=2**-8)
