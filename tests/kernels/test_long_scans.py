"""Scans of unaligned rows, whose loads give a thread elements that lie apart."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def later_of_the_largest(a, i, b, j):
    wins = (a > b) | ((a == b) & (i > j)) | ((a != a) & (b == b))
    return tl.where(wins, a, b), tl.where(wins, i, j)


@triton.jit
def largest_kernel(x_ptr, out_ptr, at_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + i, i < n, -float("inf"))
    most, at = tl.associative_scan((x, i), 0, later_of_the_largest)
    tl.store(out_ptr + start + i, most, i < n)
    tl.store(at_ptr + start + i, at, i < n)


@triton.jit
def sums_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    start = tl.program_id(0) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + i, i < n, 0)
    tl.store(out_ptr + start + i, tl.cumsum(x, 0, reverse=REVERSE), i < n)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("n", [60, 1001, 4095])
def test_largest(device, rng, n, warps):
    x = rng.integers(0, 50, (2, n)).astype(np.float32)
    out, at = device.poison((2, n), "float32"), device.poison((2, n), "int32")
    block = triton.next_power_of_2(n)
    largest_kernel[(2,)](device.put(x), out, at, n, block, num_warps=warps)
    most = np.maximum.accumulate(x, 1)
    where = np.maximum.accumulate(np.where(x == most, np.arange(n), -1), 1)
    np.testing.assert_array_equal(device.get(out), most)
    np.testing.assert_array_equal(device.get(at), where)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("n", [60, 2047, 8191])
def test_sums(device, rng, n, dtype, reverse):
    x = rng.integers(-2, 3, (2, n)).astype(dtype)
    out = device.poison((2, n), "int64")
    block = triton.next_power_of_2(n)
    sums_kernel[(2,)](device.put(x), out, n, block, reverse)
    step = -1 if reverse else 1
    want = np.cumsum(x[:, ::step].astype(np.int64), 1)[:, ::step]
    kept = want.astype("int64" if dtype == "int64" else "int32")
    np.testing.assert_array_equal(device.get(out), kept)
