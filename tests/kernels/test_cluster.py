"""Rows too wide for one thread block: the blocks of a cluster share them (sm_90 on)."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x.to(tl.float32) - tl.max(x, axis=0).to(tl.float32))
    tl.store(y_ptr + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


def has_clusters(device):
    if device.target == "cuda":
        torch = pytest.importorskip("torch")
        return torch.cuda.get_device_capability() >= (9, 0)
    return device.target in ("emu:sm_90a", "ptxsim:sm_90a")


def expected_ctas(device, n, itemsize, num_warps):
    if not has_clusters(device):
        return 1

    def is_too_much(of_block):
        of_thread = of_block // (32 * num_warps)
        return of_thread > 256 or (of_block > 32768 and of_thread > 64)

    ctas = 1
    while is_too_much(n * itemsize // ctas) and ctas < 8 and ctas * num_warps < 32:
        ctas *= 2
    return ctas


@pytest.mark.parametrize("num_warps", [1, 4, 8, 16])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("n", [16384, 30001])
def test_softmax(device, rng, num_warps, dtype, n):
    if device.is_emulated and (num_warps in (1, 16)) == (dtype is np.float32):
        pytest.skip("half of the cases are enough to emulate")
    x = rng.standard_normal((4, 32768)).astype(dtype)
    y = device.poison(x.shape, dtype)
    block = triton.next_power_of_2(n)
    args = (device.put(x), y, n, 32768)
    kernel = softmax_kernel[(2, 2)](*args, BLOCK=block, num_warps=num_warps)
    e = np.exp(x[:, :n].astype(np.float64) - x[:, :n].max(axis=1, keepdims=True))
    got = device.get(y)
    tol = 1e-3 if dtype == np.float16 else 1e-5
    np.testing.assert_allclose(
        got[:, :n], e / e.sum(axis=1, keepdims=True), rtol=tol, atol=1e-7
    )
    assert np.isnan(got[:, n:]).all()
    if device.target != "cpu":
        ctas = expected_ctas(device, block, x.itemsize, num_warps)
        assert kernel.metadata.num_ctas == ctas


@triton.jit
def extremes_kernel(x_ptr, at_ptr, top_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    top, at = tl.max(x, axis=0, return_indices=True)
    total = tl.sum(tl.where(cols < n, x, 0.0).to(tl.float64), axis=0)
    tl.store(at_ptr + row, at)
    tl.store(top_ptr + row, top)
    tl.store(sum_ptr + row, total)


def test_pairs_and_doubles(device, rng):
    """Two values reduced as one, the first of equals wins; 64-bit partial sums."""
    rows, n = 3, 12345
    x = rng.standard_normal((rows, n)).astype(np.float32)
    x[1, [17, 4000, 12000]] = 99
    at = device.poison(rows, np.int32)
    top, total = device.poison(rows, np.float32), device.poison(rows, np.float64)
    extremes_kernel[(rows,)](device.put(x), at, top, total, n, BLOCK=16384)
    np.testing.assert_array_equal(device.get(at), x.argmax(axis=1))
    np.testing.assert_array_equal(device.get(top), x.max(axis=1))
    np.testing.assert_allclose(
        device.get(total), x.sum(axis=1, dtype=np.float64), rtol=1e-12, atol=1e-10
    )


@triton.jit
def rms_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        acc += x * x
    tl.store(y_ptr + row, tl.sqrt(tl.sum(acc, axis=0) / n))


@pytest.mark.parametrize("num_ctas", [1, 2, 4])
def test_num_ctas_is_the_users(device, rng, num_ctas):
    if not has_clusters(device):
        pytest.skip("no clusters")
    x = rng.standard_normal((3, 5000)).astype(np.float32)
    y = device.poison(3, np.float32)
    kernel = rms_kernel[(3,)](device.put(x), y, 5000, BLOCK=4096, num_ctas=num_ctas)
    assert kernel.metadata.num_ctas == num_ctas
    expected = np.sqrt((x.astype(np.float64) ** 2).mean(axis=1))
    np.testing.assert_allclose(device.get(y), expected, rtol=1e-5)


@triton.jit
def ticket_kernel(x_ptr, count_ptr, y_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(count_ptr, 1)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))


def test_atomics_stay_in_one_block(device):
    """A program that blocks cannot share runs in one, whatever num_ctas asks."""
    if not has_clusters(device):
        pytest.skip("no clusters")
    x = device.put(np.ones(16384, np.float32))
    count, y = device.put(np.zeros(1, np.int32)), device.poison(5, np.float32)
    kernel = ticket_kernel[(5,)](x, count, y, 0, BLOCK=16384, num_ctas=4)
    assert kernel.metadata.num_ctas == 1
    assert device.get(count)[0] == 5
    np.testing.assert_array_equal(device.get(y), 16384)


@triton.jit
def scale_by_first_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * n
    cols = tl.arange(0, BLOCK)
    x = tl.load(row + cols)
    first = tl.load(row)
    total = tl.sum(x, axis=0)
    tl.store(row + cols, x * first)
    tl.store(y_ptr + tl.program_id(0), total + tl.load(row + 1))


def test_a_scalar_of_what_is_stored_keeps_to_one_block(device, rng):
    x = rng.integers(-8, 8, (2, 16384)).astype(np.float32)
    dx, y = device.put(x), device.poison(2, np.float32)
    kernel = scale_by_first_kernel[(2,)](dx, y, 16384, BLOCK=16384)
    np.testing.assert_array_equal(device.get(dx), x * x[:, :1])
    np.testing.assert_array_equal(device.get(y), x.sum(axis=1) + x[:, 1] * x[:, 0])
    assert device.target == "cpu" or kernel.metadata.num_ctas == 1
