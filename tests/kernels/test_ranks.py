"""Ranks by one-hot rows that are scanned, and numbers that a mask of bytes picks."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def ranks_kernel(
    ids_ptr, y_ptr, n, E: tl.constexpr, BLOCK: tl.constexpr, AXIS: tl.constexpr
):
    """Where each token stands among those of its expert; then how many each has."""
    e = tl.arange(0, E)
    seen = tl.zeros((E,), tl.int32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        ids = tl.load(ids_ptr + i, mask=i < n, other=-1)
        hot = (ids[:, None] == e[None, :]).to(tl.int32)
        if AXIS == 1:
            hot = (e[:, None] == ids[None, :]).to(tl.int32)
        before = tl.cumsum(hot, AXIS) - hot + tl.expand_dims(seen, AXIS)
        tl.store(y_ptr + i, tl.sum(before * hot, 1 - AXIS), mask=i < n)
        seen += tl.sum(hot, AXIS)
    tl.store(y_ptr + n + e, seen)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("block", "experts", "warps"),
    [(32, 64, 1), (128, 16, 4), (16, 64, 2), (256, 8, 8), (64, 4, 4), (4, 128, 1)],
)
def test_ranks(device, rng, block, experts, warps, axis):
    n = 300
    ids = rng.integers(0, experts, n).astype(np.int32)
    y = device.poison(n + experts, np.int32)
    ranks_kernel[(1,)](
        device.put(ids), y, n, experts, block, AXIS=axis, num_warps=warps
    )
    ranks = [np.count_nonzero(ids[:i] == ids[i]) for i in range(n)]
    counts = np.bincount(ids, minlength=experts)
    np.testing.assert_array_equal(device.get(y), np.append(ranks, counts))


@triton.jit
def picked_kernel(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = tl.load(m_ptr + i, mask=i < n, other=0) != 0
    x = tl.load(x_ptr + i, mask=m & (i < n))
    tl.store(y_ptr + tl.cumsum(m.to(tl.int32), 0) - 1, x, mask=m & (i < n))


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize(("n", "block", "warps"), [(512, 512, 1), (1999, 2048, 4)])
def test_picked(device, rng, n, block, warps, dtype):
    x = (rng.standard_normal(n) * 1000).astype(dtype)
    m = rng.integers(0, 2, n).astype(np.int8)
    y = device.poison(n, dtype)
    picked_kernel[(1,)](device.put(x), device.put(m), y, n, block, num_warps=warps)
    want = x[m != 0]
    np.testing.assert_array_equal(device.get(y)[: len(want)], want)
