"""Blocks with more registers than a thread has: by loops over slices."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl

WARPS = 1  # so that small blocks are many registers


@tegula.jit
def quantize(a_ptr, scale_ptr, q_ptr, M, K, stride, BM: tl.constexpr, BK: tl.constexpr):
    """FBGEMM's: one scale for a block, which is read once."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    at = m[:, None] * stride + k[None, :]
    mask = (m < M)[:, None] & (k < K)[None, :]
    a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float32)
    top = tl.maximum(tl.max(tl.abs(a)), 1e-12)
    scale = 448.0 / top
    tl.store(scale_ptr + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), top)
    q = tl.clamp(a * scale, -448.0, 448.0)
    tl.store(q_ptr + at, q.to(tl.float8e4nv).to(tl.uint8, bitcast=True), mask=mask)


@tegula.jit
def softmax(out_ptr, x_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + i, e / tl.sum(e, 0), mask=i < n)


@tegula.jit
def normalize(
    out_ptr, x_ptr, w_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    """A row or column of statistics beside a block, and a row or column that is read."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    at = m[:, None] * N + n[None, :]
    x = tl.load(x_ptr + at)
    x = x - tl.sum(x, AXIS, keep_dims=True) / x.shape[AXIS]
    d = tl.sqrt(tl.sum(x * x, AXIS, keep_dims=True) / x.shape[AXIS] + 1e-3)
    w = tl.load(w_ptr + n)[None, :] if AXIS == 0 else tl.load(w_ptr + m)[:, None]
    tl.store(out_ptr + at, x / d * w)


@tegula.jit
def reverse(x_ptr, B: tl.constexpr):
    """In place: all is read before anything is written."""
    i = tl.arange(0, B)
    x = tl.load(x_ptr + (B - 1 - i))
    tl.store(x_ptr + i, tl.where(i % 3 == 0, -x, x))


@tegula.jit
def where_largest(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    tl.store(out_ptr + m, tl.argmax(x, 1))


@tegula.jit
def running(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    """An op that takes a block whole, between blocks that no thread holds."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    rows = tl.sum(x, 1)
    tl.store(out_ptr + at, x + (tl.cumsum(rows, 0) - rows)[:, None])


@tegula.jit
def carried(x_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr):
    """Large blocks in a loop, beside rows that go round it."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    top = tl.full((M,), -1000, tl.int32)
    before = top
    for k in range(n):
        x = tl.load(x_ptr + k * M * N + at)
        before = top
        top = tl.maximum(top, tl.max(x, 1))
        tl.store(out_ptr + k * M * N + at, x - top[:, None])
    if n > 1:
        top += before
    tl.store(out_ptr + n * M * N + at, tl.broadcast_to(top[:, None], (M, N)))


@tegula.jit
def carried_rows(x_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr):
    """A row of the block is a slice, and so is its maximum; sums are no part of it."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    top = tl.full((M,), -1000, tl.int32)
    sums = tl.zeros((64,), tl.int32)
    for k in range(n):
        x = tl.load(x_ptr + k * M * N + at)
        top = tl.maximum(top, tl.max(x, 1))
        if k == 1:
            top += 5
            sums += 1
        sums += tl.arange(0, 64) * k
        tl.store(out_ptr + k * M * N + at, x - top[:, None])
    tl.store(out_ptr + n * M * N + at, tl.broadcast_to(top[:, None], (M, N)))
    tl.store(out_ptr + (n + 1) * M * N + tl.arange(0, 64), sums)
    tl.store(out_ptr + (n + 1) * M * N + 64 + tl.arange(0, M), top)


@tegula.jit
def scatter(x_ptr, to_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    to = tl.load(to_ptr + i, mask=i < n)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.atomic_add(out_ptr + to, x, mask=(i < n) & (x > 0))


@tegula.jit
def residual(x_ptr, r_ptr, out_ptr, y_ptr, B: tl.constexpr):
    """What is stored may lie where it was loaded: by the same argument or by another."""
    i = tl.arange(0, B)
    s = tl.load(x_ptr + i) + tl.load(r_ptr + i)
    tl.store(out_ptr + i, s)
    tl.store(y_ptr + i, s / tl.sum(s, axis=0))


@tegula.jit
def residual_in_place(x_ptr, r_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    s = tl.load(x_ptr + i) + tl.load(r_ptr + i)
    tl.store(r_ptr + i, s)
    tl.store(y_ptr + i, s / tl.sum(s, axis=0))


@tegula.jit
def move(x_ptr, by, B: tl.constexpr):
    """All is read before anything is written, however far apart the two are."""
    i = tl.arange(0, B)
    tl.store(x_ptr + by + i, tl.load(x_ptr + i))


@tegula.jit
def exchange(x_ptr, half, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x_ptr + i), tl.load(x_ptr + half + i)
    tl.store(x_ptr + i, a - b)
    tl.store(x_ptr + half + i, a + b)


@tegula.jit
def where_last(x_ptr, out_ptr, n, B: tl.constexpr):
    """A region of several ops, which has no neutral element."""
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=-1)
    top, at = tl.max(x, 0, return_indices=True, return_indices_tie_break_left=False)
    tl.store(out_ptr, top)
    tl.store(out_ptr + 1, at)
    tl.store(out_ptr + 2, tl.sum((x == top).to(tl.int32), 0))


def rounded_to_f8(x: np.ndarray) -> np.ndarray:
    """To e4m3, of numbers up to 448."""
    step = np.exp2(np.floor(np.log2(np.maximum(np.abs(x), 2.0**-6))) - 3)
    return np.rint(x / step) * step


def from_f8(bits: np.ndarray) -> np.ndarray:
    e, f = (bits >> 3 & 15).astype(int), (bits & 7) / 8.0
    x = np.where(e > 0, (1 + f) * np.exp2(e - 7.0), f * 2.0**-6)
    return np.where(bits >> 7, -x, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_quantize(device, rng, dtype):
    M, K, stride, BM, BK = 300, 250, 272, 256, 512
    a = rng.standard_normal((M, stride)).astype(dtype)
    q = device.put(np.full((M, stride), 77, np.uint8))
    scale = device.poison((2, 1), np.float32)
    quantize[(2, 1)](
        device.put(a), scale, q, M, K, stride, BM=BM, BK=BK, num_warps=WARPS
    )
    got, used = device.get(q), a[:, :K].astype(np.float32)
    assert (got[:, K:] == 77).all()
    for k, rows in enumerate((slice(0, 256), slice(256, 300))):
        top = np.abs(used[rows]).max()
        assert device.get(scale)[k, 0] == top
        # The quotient may be an ulp beside NumPy's: a step of float8 is 2^-3 of the number.
        want = used[rows].astype(np.float64) * 448 / top
        have = from_f8(got[rows, :K])
        np.testing.assert_allclose(have, want, rtol=2.0**-4 * 1.0001, atol=2.0**-10)
        assert (have == rounded_to_f8(want)).mean() > 0.999


@pytest.mark.parametrize("n", [131072, 100003])
def test_softmax(device, rng, n):
    x = rng.standard_normal(n, dtype=np.float32)
    out = device.poison(131072, np.float32)
    softmax[(1,)](out, device.put(x), n, B=131072, num_warps=WARPS)
    e = np.exp(x.astype(np.float64) - x.max())
    np.testing.assert_allclose(device.get(out)[:n], e / e.sum(), rtol=1e-5)
    assert np.isnan(device.get(out)[n:]).all()


@pytest.mark.parametrize("shape", [(256, 512), (2048, 64), (16, 8192)])
@pytest.mark.parametrize("axis", [0, 1])
def test_statistics(device, rng, shape, axis):
    x = rng.standard_normal(shape, dtype=np.float32)
    w = rng.standard_normal(shape[1 - axis], dtype=np.float32)
    out = device.poison(shape, np.float32)
    normalize[(1,)](
        out,
        device.put(x),
        device.put(w),
        AXIS=axis,
        M=shape[0],
        N=shape[1],
        num_warps=WARPS,
    )
    y = x.astype(np.float64)
    y -= y.mean(axis, keepdims=True)
    y /= np.sqrt((y * y).mean(axis, keepdims=True) + 1e-3)
    want = y * np.expand_dims(w, axis)
    np.testing.assert_allclose(device.get(out), want, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_reverse(device, rng, dtype):
    x = (rng.standard_normal(131072) * 50).astype(dtype)
    at = device.put(x)
    reverse[(1,)](at, B=131072, num_warps=WARPS)
    want = np.where(np.arange(131072) % 3 == 0, -x[::-1], x[::-1])
    np.testing.assert_array_equal(device.get(at), want)


def test_where_largest(device, rng):
    x = rng.integers(0, 40, (512, 256)).astype(np.float32)
    out = device.poison(512, np.int32)
    where_largest[(1,)](device.put(x), out, M=512, N=256, num_warps=WARPS)
    np.testing.assert_array_equal(device.get(out), x.argmax(1))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_running(device, rng, dtype):
    x = rng.integers(-9, 9, (128, 1024)).astype(dtype)
    out = device.poison(x.shape, dtype)
    running[(1,)](device.put(x), out, M=128, N=1024, num_warps=WARPS)
    rows = x.sum(1, dtype=dtype)
    want = x + (rows.cumsum(dtype=dtype) - rows)[:, None]
    np.testing.assert_array_equal(device.get(out), want)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_carried(device, rng, n):
    M, N = 128, 1024
    x = rng.integers(-99, 99, (3, M, N)).astype(np.int32)
    out = device.poison((4, M, N), np.int32)
    carried[(1,)](device.put(x), out, n, M=M, N=N, num_warps=WARPS)
    top = np.full(M, -1000)
    before, want = top, []
    for k in range(n):
        before, top = top, np.maximum(top, x[k].max(1))
        want.append(x[k] - top[:, None])
    want.append(np.repeat((top + before if n > 1 else top)[:, None], N, 1))
    np.testing.assert_array_equal(device.get(out)[: n + 1], np.array(want))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_carried_rows(device, rng, n):
    M, N = 32, 1024
    x = rng.integers(-99, 99, (3, M, N)).astype(np.int32)
    out = device.poison((5, M, N), np.int32)
    carried_rows[(1,)](device.put(x), out, n, M=M, N=N, num_warps=WARPS)
    top, sums, got = np.full(M, -1000), np.zeros(64, int), device.get(out)
    for k in range(n):
        top = np.maximum(top, x[k].max(1))
        if k == 1:
            top, sums = top + 5, sums + 1
        sums += np.arange(64) * k
        np.testing.assert_array_equal(got[k], x[k] - top[:, None])
    np.testing.assert_array_equal(got[n], np.repeat(top[:, None], N, 1))
    np.testing.assert_array_equal(got[n + 1].ravel()[:64], sums)
    np.testing.assert_array_equal(got[n + 1].ravel()[64 : 64 + M], top)


def test_scatter(device, rng):
    n = 131072 - 77
    x = rng.integers(-9, 9, 131072).astype(np.int32)
    to = rng.integers(0, 1000, 131072).astype(np.int32)
    out = device.put(np.zeros(1000, np.int32))
    scatter[(1,)](device.put(x), device.put(to), out, n, B=131072, num_warps=WARPS)
    want = np.zeros(1000, np.int32)
    on = x[:n] > 0
    np.add.at(want, to[:n][on], x[:n][on])
    np.testing.assert_array_equal(device.get(out), want)


@pytest.mark.parametrize("way", ["apart", "two arguments", "one argument"])
def test_residual(device, rng, way):
    n = 16384
    x, r = rng.uniform(0, 1, (2, n)).astype(np.float32)
    at, y = device.put(r), device.poison(n, np.float32)
    if way == "one argument":
        out = at
        residual_in_place[(1,)](device.put(x), at, y, B=n, num_warps=WARPS)
    else:
        out = at if way == "two arguments" else device.poison(n, np.float32)
        residual[(1,)](device.put(x), at, out, y, B=n, num_warps=WARPS)
    np.testing.assert_array_equal(device.get(out), x + r)
    want = (x + r) / (x + r).sum(dtype=np.float64)
    np.testing.assert_allclose(device.get(y), want, rtol=1e-5)


@pytest.mark.parametrize("by", [1, 512, 1024, 4096])
def test_move(device, rng, by):
    n = 16384
    x = rng.integers(-99, 99, n + 4096).astype(np.int32)
    at = device.put(x)
    move[(1,)](at, by, B=n, num_warps=WARPS)
    want = x.copy()
    want[by : by + n] = x[:n]
    np.testing.assert_array_equal(device.get(at), want)


def test_exchange(device, rng):
    n = 16384
    x = rng.integers(-99, 99, 2 * n).astype(np.int32)
    at = device.put(x)
    exchange[(1,)](at, n, B=n, num_warps=WARPS)
    a, b = x[:n], x[n:]
    np.testing.assert_array_equal(device.get(at), np.concatenate([a - b, a + b]))


@pytest.mark.parametrize("n", [16384, 10001])
def test_where_last(device, rng, n):
    x = rng.integers(0, 40, 16384).astype(np.int32)
    out = device.poison(3, np.int32)
    where_last[(1,)](device.put(x), out, n, B=16384, num_warps=WARPS)
    top = x[:n].max()
    assert device.get(out)[0] == top
    assert x[device.get(out)[1]] == top
    assert device.get(out)[2] == (x[:n] == top).sum()


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a", "emu:sm_90a"])
def test_code_is_short(target):
    """8192 elements a thread: minutes of ptxas, were each of them its own code."""
    sides = {"BM": 1024, "BK": 1024}
    compiled = quantize.compile(
        "*bf16:16", "*fp32:16", "*u8:16", *["i32"] * 3, target=target, **sides
    )
    assert sum(compiled.timings.values()) < 20_000  # ms; 300 on an idle machine
    code = compiled.asm["llir"].splitlines()
    assert len(code) < 5000
    # The second loop loads again what the first has loaded.
    assert ".local" not in compiled.asm["ptx"]


def test_what_was_stored_over_is_kept():
    """sm_90 has clusters, whose threads hold all of it."""
    compiled = residual_in_place.compile(
        *["*fp32:16"] * 3, target="cuda:sm_80", B=32768, num_warps=1
    )
    assert "st.local.v4" in compiled.asm["ptx"]
    assert "ld.local.v4" in compiled.asm["ptx"]


@tegula.jit
def numbered(x_ptr, n_ptr, out_ptr):
    """What an atomic gives has few registers, and meets what becomes of a block of many."""
    i = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    x = tl.load(x_ptr + i[:, :, None] * 8 + tl.arange(0, 8)[None, None, :])
    before = tl.atomic_add(n_ptr + i, 1)
    tl.store(out_ptr + i, tl.max(x, 2) + before)


def test_an_atomic_is_done_once(device, rng):
    x = rng.integers(0, 1000, (4096, 8)).astype(np.int32)
    start = rng.integers(0, 1000, 4096).astype(np.int32)
    n, out = device.put(start.copy()), device.poison(4096, np.int32)
    numbered[(1,)](device.put(x), n, out, num_warps=2)
    np.testing.assert_array_equal(device.get(n), start + 1)
    np.testing.assert_array_equal(device.get(out), x.max(1) + start)


@pytest.mark.parametrize("target", ["cuda:sm_75", "cuda:sm_80", "cuda:sm_90a"])
def test_an_atomic_is_in_one_loop(target):
    """Slices of the block are made of the atomic's result, and not the atomic by slices."""
    simt = numbered.compile(*["*i32:16"] * 3, target=target, num_warps=2).asm["simt"]
    assert simt.count("= atomic_rmw") == 1
    assert "%slice" in simt
