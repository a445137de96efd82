"""Vector add: awkward sizes first."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("n", [0, 1, 31, 33, 1000, 1024, 4096, 98432])
@pytest.mark.parametrize("block", [16, 1024])
def test_add(device, rng, n, block):
    if device.is_emulated and n / block > 500:
        pytest.skip("too many programs to emulate")
    x, y = rng.standard_normal((2, n), dtype=np.float32)
    out = device.poison(n, np.float32)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)
    add_kernel[grid](device.put(x), device.put(y), out, n, BLOCK_SIZE=block)
    np.testing.assert_array_equal(device.get(out), x + y)


@pytest.mark.parametrize("num_warps", [1, 2, 8])
def test_writes_nothing_past_the_end(device, rng, num_warps):
    x, y = rng.standard_normal((2, 300), dtype=np.float32)
    out = device.poison(512, np.float32)
    add_kernel[(1,)](
        device.put(x), device.put(y), out, 300, BLOCK_SIZE=512, num_warps=num_warps
    )
    got = device.get(out)
    np.testing.assert_array_equal(got[:300], x + y)
    assert np.isnan(got[300:]).all()
