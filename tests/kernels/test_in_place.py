"""Kernels that write the tensor they read, elsewhere: blocks are read before."""

from __future__ import annotations

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl


@tegula.jit
def permute(x_ptr, to_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    base = tl.program_id(0).to(tl.int64) * B
    x = tl.load(x_ptr + base + i, mask=base + i < n)
    to = base + tl.load(to_ptr + i).to(tl.int64)
    tl.store(x_ptr + to, x, mask=to < n)


@tegula.jit
def reverse(x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x_ptr + i, tl.load(x_ptr + (B - 1 - i)) + 1)


@tegula.jit
def shift(x_ptr, by, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x_ptr + by + i, tl.load(x_ptr + i) * 2)


@tegula.jit
def shift_views(x_ptr, y_ptr, total_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for _ in range(n):
        tl.store(y_ptr + i, tl.load(x_ptr + i) * 2)
        tl.store(total_ptr, tl.sum(tl.load(x_ptr + (B - 1 - i)), 0))


@tegula.jit
def step_by_step(x_ptr, y_ptr, n, width, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    for t in range(n):
        x = tl.load(x_ptr + t * width + i)
        tl.store(y_ptr + t * width + i, tl.exp(-x * x))


@tegula.jit
def transpose(x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i[:, None] * B + i[None, :])
    tl.store(x_ptr + i[None, :] * B + i[:, None], x + 0.5)


@tegula.jit
def largest_then_write(x_ptr, to_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    top = tl.max(x, 0)
    tl.store(x_ptr + tl.load(to_ptr + i), i * 100)
    tl.store(out_ptr, top)


@tegula.jit
def rotary(x_ptr, cos_ptr, sin_ptr, half, H: tl.constexpr):
    i = tl.arange(0, H)
    c, s = tl.load(cos_ptr + i), tl.load(sin_ptr + i)
    a, b = tl.load(x_ptr + i), tl.load(x_ptr + half + i)
    tl.store(x_ptr + i, a * c - b * s)
    tl.store(x_ptr + half + i, b * c + a * s)


@pytest.mark.parametrize("n", [64, 500, 1024])
def test_permutation(n, device):
    B = 64 if n == 64 else 512
    to = np.random.default_rng(n).permutation(B).astype(np.int32)
    x = np.arange(2 * B, dtype=np.int64)
    want = x.copy()
    for k in range(2):
        want[k * B + to] = x[k * B :][:B]
    d = device.put(x)
    permute[(2,)](d, device.put(to), 2 * B, B=B, num_warps=1)
    np.testing.assert_array_equal(device.get(d), want)


@pytest.mark.parametrize("B", [32, 128])
def test_reversed(B, device):
    x = np.arange(B, dtype=np.float32)
    d = device.put(x)
    reverse[(1,)](d, B=B, num_warps=1)
    np.testing.assert_array_equal(device.get(d), x[::-1] + 1)


@pytest.mark.parametrize("by", [1, 16, 17, 40])
def test_shifted(by, device):
    x = np.arange(128 + by, dtype=np.int32)
    want = x.copy()
    want[by:] = 2 * x[:128]
    d = device.put(x)
    shift[(1,)](d, by, B=128, num_warps=1)
    np.testing.assert_array_equal(device.get(d), want)


@pytest.mark.parametrize("by", [0, 1, 16, 40])
def test_shifted_through_two_arguments(by, device):
    """Views of one tensor: a store waits for the loads before it, a load for the stores."""
    x = np.arange(128 + by, dtype=np.int64)
    want = x.copy()
    d, total = device.put(x), device.put(np.zeros(1, np.int64))
    shift_views[(1,)](d, d[by:], total, 3, B=128, num_warps=4)
    for _ in range(3):
        want[by:] = 2 * want[:128]
    np.testing.assert_array_equal(device.get(d), want)
    assert device.get(total)[0] == want[:128].sum()


@pytest.mark.parametrize("B", [8, 32])
def test_transposed(B, device):
    x = np.arange(B * B, dtype=np.float32).reshape(B, B)
    d = device.put(x)
    transpose[(1,)](d, B=B, num_warps=1)
    np.testing.assert_array_equal(device.get(d), x.T + 0.5)


def test_reduced_before_it_is_written(device):
    x = np.arange(256, dtype=np.int32)
    to = np.random.default_rng(0).permutation(256).astype(np.int32)
    d, out = device.put(x), device.put(np.zeros(1, np.int32))
    largest_then_write[(1,)](d, device.put(to), out, B=256, num_warps=1)
    assert device.get(out)[0] == 255
    np.testing.assert_array_equal(device.get(d)[to], 100 * x)


@pytest.mark.parametrize("half", [64, 80])
def test_rotary(half, device):
    rng = np.random.default_rng(half)
    x, c, s = (rng.standard_normal(k).astype(np.float32) for k in (144, 64, 64))
    a, b = x[:64].copy(), x[half:][:64].copy()
    want = x.copy()
    want[:64] = a * c - b * s
    want[half : half + 64] = b * c + a * s
    d = device.put(x)
    rotary[(1,)](d, device.put(c), device.put(s), half, H=64, num_warps=1)
    np.testing.assert_allclose(device.get(d), want, atol=1e-6)


@pytest.mark.parametrize("ahead", [0, 1], ids=["same", "ahead"])
def test_what_a_loop_stores_it_loads_later(device, rng, ahead):
    """Through two arguments: a later iteration sees what an earlier one has stored."""
    b, n = 128, 5
    x = rng.standard_normal((n + ahead, 2 * b)).astype(np.float32)
    memory = device.put(x)
    step_by_step[(2,)](memory[:n], memory[ahead:], n, 2 * b, B=b)
    want = x.copy()
    for t in range(n):
        want[t + ahead] = np.exp(-want[t] * want[t])
    np.testing.assert_allclose(device.get(memory), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tells", [True, False], ids=["reach", "address"])
def test_launches_on_a_gpu_are_asked(ptxsim, tells):
    """A tensor says how far it reaches, or its address alone: then it may meet any."""
    b, n = 128, 5
    x = np.linspace(-2, 2, (n + 1) * 2 * b, dtype=np.float32).reshape(n + 1, 2 * b)
    memory = simulated.put(x, "sm_80")
    views = [memory[:n], memory[1:]]
    for v in views if not tells else ():
        v.shape = None
    step_by_step[(2,)](*views, n, 2 * b, B=b)
    want = x.copy()
    for t in range(n):
        want[t + 1] = np.exp(-want[t] * want[t])
    np.testing.assert_allclose(memory.numpy(), want, rtol=1e-5, atol=1e-6)


def test_the_question_decides(ptxsim):
    """Code of a launch whose tensors lie apart loads an iteration ahead: on views of one
    tensor it reads what its threads have yet to store. No race tells, the result does."""
    b, n = 128, 5
    x = np.linspace(-2, 2, (n + 1) * 2 * b, dtype=np.float32).reshape(n + 1, 2 * b)
    memory = simulated.put(x, "sm_80")
    apart = [simulated.put(rows, "sm_80") for rows in (x[:n], x[1:])]
    not_asked = step_by_step[(2,)](*apart, n, 2 * b, B=b).asm["ptx"]
    asked = step_by_step[(2,)](memory[:n], memory[1:], n, 2 * b, B=b).asm["ptx"]
    number = simulated.library().ptxsim_keep(0)
    want = x.copy()
    for t in range(n):
        want[t + 1] = np.exp(-want[t] * want[t])
    for ptx, right in ((asked, True), (not_asked, False)):
        memory.numpy()[...] = x
        assert not simulated.again(number, ptx, 1)
        assert np.allclose(memory.numpy(), want, rtol=1e-5, atol=1e-6) == right
