"""Floats that become integers on a CPU: what does not fit, and what is no number."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def whole_numbers(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x.to(y_ptr.dtype.element_ty), mask=i < n)


@pytest.mark.parametrize("to", [np.int32, np.uint32, np.int64, np.uint64, np.int8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_do_not_fit(dtype: type, to: type) -> None:
    """Vectors of them end where scalars do, and a NaN is 0."""
    ends = [np.nan, np.inf, -np.inf, -0.5, 0.5, -1.5, 127.5]
    ends += [
        s * 2.0**e * f
        for s in (1, -1)
        for e in (31, 32, 63, 64)
        for f in (1, 1 - 2**-20)
    ]
    x = np.array(ends, dtype)
    y, one = np.full((2, x.size), 77, to)
    whole_numbers[(1,)](x, y, x.size, BLOCK=32)
    for i in range(x.size):
        whole_numbers[(1,)](x[i:], one[i:], 1, BLOCK=1)
    np.testing.assert_array_equal(y, one)
    if to is not np.int8:
        assert y[0] == 0 and y[1] == np.iinfo(to).max and y[2] == np.iinfo(to).min
