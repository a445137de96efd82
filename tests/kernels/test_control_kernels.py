"""while, dynamic if around a store, early return, atomics."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def collatz_kernel(x_ptr, out_ptr):
    pid = tl.program_id(0)
    n = tl.load(x_ptr + pid)
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    tl.store(out_ptr + pid, steps)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_while(device):
    x = np.arange(1, 31, dtype=np.int32)
    out = device.poison(30, np.int32)
    collatz_kernel[(30,)](device.put(x), out)
    np.testing.assert_array_equal(device.get(out), [collatz(n) for n in x])


@triton.jit
def newton_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Square roots by Newton's method: a block carried through a while."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    y = x
    error = 1.0
    while error > 1e-6:
        new = 0.5 * (y + x / y)
        error = tl.max(tl.abs(new - y) / new)
        y = new
    tl.store(out_ptr + i, y, mask=i < n)


def test_while_with_a_block(device, rng):
    x = rng.uniform(0.01, 100, 100).astype(np.float32)
    out = device.poison(100, np.float32)
    newton_kernel[(1,)](device.put(x), out, 100, BLOCK=128)
    np.testing.assert_allclose(device.get(out), np.sqrt(x), rtol=1e-5)


@triton.jit
def store_if_kernel(x_ptr, out_ptr, threshold, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    total = tl.sum(x)
    if total > threshold:
        tl.store(out_ptr + i, x)
    else:
        if pid % 2 == 0:
            tl.store(out_ptr + i, -x)


def test_dynamic_if_around_a_store(device, rng):
    x = rng.standard_normal((16, 64), dtype=np.float32)
    out = device.poison((16, 64), np.float32)
    store_if_kernel[(16,)](device.put(x), out, 0.0, BLOCK=64)
    got = device.get(out)
    for pid, row in enumerate(x):
        if row.sum(dtype=np.float64) > 0:
            np.testing.assert_array_equal(got[pid], row)
        elif pid % 2 == 0:
            np.testing.assert_array_equal(got[pid], -row)
        else:
            assert np.isnan(got[pid]).all()


@triton.jit
def early_return_kernel(x_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    x = tl.load(x_ptr + pid)
    if x < 0:
        tl.store(x_ptr + pid, 0.0)
        return
    tl.store(x_ptr + pid, x * 2)


def test_early_return(device):
    x = device.put(np.array([1, -1, 3, -4, 5, 6], np.float32))
    early_return_kernel[(6,)](x, 5)
    np.testing.assert_array_equal(device.get(x), [2, 0, 6, 0, 10, 6])


@triton.jit
def branch_value_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if tl.max(x) > 100:
        scale = 0.5
        x = x - 1
    else:
        scale = 2.0
    tl.store(out_ptr + i, x * scale)


@pytest.mark.parametrize("top", [50, 200])
def test_values_out_of_branches(device, top):
    x = np.linspace(0, top, 64, dtype=np.float32)
    out = device.poison(64, np.float32)
    branch_value_kernel[(1,)](device.put(x), out, BLOCK=64)
    np.testing.assert_allclose(device.get(out), (x - 1) * 0.5 if top > 100 else x * 2)


@triton.jit
def bincount_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(out_ptr + x, 1, mask=i < n)


@pytest.mark.parametrize("n", [1, 33, 1000])
def test_atomic_add_collisions(device, rng, n):
    x = rng.integers(0, 10, n).astype(np.int32)
    out = device.put(np.zeros(10, np.int32))
    bincount_kernel[(triton.cdiv(n, 128),)](device.put(x), out, n, BLOCK=128)
    np.testing.assert_array_equal(device.get(out), np.bincount(x, minlength=10))


@triton.jit
def atomic_sum_kernel(x_ptr, out_ptr, ticket_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i)))
    old = tl.atomic_add(ticket_ptr, 1)
    tl.store(ticket_ptr + 1 + old, old)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_scalar_atomics_happen_once(device, rng, dtype):
    x = rng.integers(-100, 100, 1024).astype(dtype)
    out, ticket = device.put(np.zeros(1, dtype)), device.put(np.full(9, 0, np.int32))
    atomic_sum_kernel[(8,)](device.put(x), out, ticket, BLOCK=128)
    assert device.get(out)[0] == x.sum()
    np.testing.assert_array_equal(device.get(ticket), [8, *range(8)])


@triton.jit
def lock_kernel(lock_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(x_ptr, tl.load(x_ptr) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_spin_lock(device):
    lock, x = device.put(np.zeros(1, np.int32)), device.put(np.zeros(1, np.int32))
    lock_kernel[(64,)](lock, x)
    assert device.get(x)[0] == 64


@triton.jit
def atomic_minmax_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.atomic_max(out_ptr + i % 2, x)
    tl.atomic_min(out_ptr + 2 + i % 2, x)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32, np.int64])
def test_atomic_max_min(device, rng, dtype):
    x = rng.integers(0 if dtype == np.uint32 else -1000, 1000, 256).astype(dtype)
    out = device.put(np.array([x[0], x[1], x[0], x[1]]))
    atomic_minmax_kernel[(1,)](device.put(x), out, BLOCK=256)
    np.testing.assert_array_equal(
        device.get(out), [x[::2].max(), x[1::2].max(), x[::2].min(), x[1::2].min()]
    )
