"""A masked store of one known lane writes that element, and nothing of its neighbour."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def narrowed(x_ptr, y_ptr, LANE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x, mask=i == LANE)


@pytest.mark.parametrize("lane", [0, 1, 7, 15])
@pytest.mark.parametrize("source", [np.float32, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16])
def test_neighbours_keep_theirs(lane: int, source: type, to: type) -> None:
    """LLVM 22 stored as many bytes as the element had before it was narrowed."""
    x = np.arange(-9, 7).astype(source)
    if to is np.uint8:
        x = abs(x)
    y = np.full(24, 99, to)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = False  # checks compute the mask at run time
        narrowed[(1,)](x, y, LANE=lane, N=16)
    want = np.full(24, 99, to)
    want[lane] = x[lane]
    np.testing.assert_array_equal(y, want)
