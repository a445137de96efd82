"""Products of operands that no copy brings: rows of odd length, columns that lie apart."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def product_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    a_row,
    b_row,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    rows = tl.arange(0, BM)
    cols = tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        left = k - start
        a = tl.load(
            a_ptr + rows[:, None] * a_row + start + inner[None, :],
            (rows[:, None] < m) & (inner[None, :] < left),
            0,
        )
        b = tl.load(
            b_ptr + (start + inner[:, None]) * b_row + cols[None, :],
            (inner[:, None] < left) & (cols[None, :] < n),
            0,
        )
        acc = tl.dot(a, b, acc)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc, mask)


def run(device, rng, block, k, b_row, warps, stages):
    m, n = block[0] - 1, block[1] - 3
    a = rng.integers(-4, 5, (m, k | 1)).astype(np.float16)
    b = rng.integers(-4, 5, (max(k, 1), b_row)).astype(np.float16)
    out = device.poison((m, n), "float32")
    kernel = product_kernel[(1,)](
        device.put(a),
        device.put(b),
        out,
        m,
        n,
        k,
        k | 1,
        b_row,
        *block,
        num_warps=warps,
        num_stages=stages,
    )
    want = a[:, :k].astype(np.float32) @ b[:k, :n].astype(np.float32)
    np.testing.assert_array_equal(device.get(out), want)
    return kernel


@pytest.mark.parametrize("k", [0, 20, 33, 100])
@pytest.mark.parametrize("block", [(32, 32, 32), (64, 64, 32), (64, 16, 16)], ids=str)
def test_both_are_narrow(device, rng, block, k):
    for stages in (2, 3):
        run(device, rng, block, k, block[1] - 1, 4, stages)


@pytest.mark.parametrize("k", [0, 20, 33, 100])
@pytest.mark.parametrize("block", [(32, 32, 32), (64, 64, 32)], ids=str)
def test_one_is_copied(device, rng, block, k):
    run(device, rng, block, k, block[1], 4, 3)
