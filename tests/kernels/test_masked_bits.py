"""Bits of x and bits of y where a mask says so, else x: one instruction of AVX-512."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def masked_bits_kernel(
    x_ptr, y_ptr, out_ptr, C: tl.constexpr, HOW: tl.constexpr, B: tl.constexpr
):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i) + i
    y = tl.load(y_ptr + i) + i
    both = ((x ^ y) & C) ^ y if HOW == 4 else (x & C) | (y & ~C)
    if HOW == 0 or HOW == 4:
        z = tl.where(y > 3, both, x)
    elif HOW == 1:
        z = tl.where(y > 3, x, both)
    elif HOW == 2:
        z = tl.where(y > 3, both, y)
    else:
        z = tl.where(y > 3, y, both)
    tl.store(out_ptr + i, z)


@pytest.mark.parametrize("how", range(5))
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("low", [31, 12, 8])
def test_masked_bits(device, rng, dtype, low, how):
    n, info = 16, np.iinfo(dtype)
    x, y = rng.integers(info.min + n, info.max - n, (2, n), dtype)
    c = -(2**low)  # the upper bits
    out = device.poison(n, dtype)
    masked_bits_kernel[(1,)](device.put(x), device.put(y), out, C=c, HOW=how, B=n)
    x, y = (v + np.arange(n, dtype=dtype) for v in (x, y))
    both, m = (x & c) | (y & ~c), y > 3
    want = np.where(m, *((both, x), (x, both), (both, y), (y, both), (both, x))[how])
    assert (device.get(out) == want).all()
