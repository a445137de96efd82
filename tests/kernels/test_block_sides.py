"""Blocks whose sides are no powers of two: the block is the row, and nobody masks."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, n: tl.constexpr):
    row = tl.program_id(0) * n
    cols = tl.arange(0, n)
    x = tl.load(in_ptr + row + cols)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + cols, e / tl.sum(e, axis=0))


@pytest.mark.parametrize("n", [1, 3, 100, 1000, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_softmax(device, rng, n, dtype):
    x = rng.standard_normal((4, n)).astype(dtype)
    out = device.poison((5, n), dtype)
    softmax_kernel[(4,)](out, device.put(x), n)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    got = device.get(out)
    tol = 1e-5 if dtype == np.float32 else 2e-3
    np.testing.assert_allclose(got[:4], e / e.sum(1, keepdims=True), rtol=tol, atol=tol)
    assert np.isnan(got[4]).all()  # what is padding is not written


@triton.jit
def layer_norm_kernel(y_ptr, x_ptr, w_ptr, b_ptr, n: tl.constexpr):
    cols = tl.arange(0, n)
    at = tl.program_id(0) * n + cols
    x = tl.load(x_ptr + at).to(tl.float32)
    d = x - tl.sum(x, 0) / n
    rstd = tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5)
    y = d * rstd * tl.load(w_ptr + cols) + tl.load(b_ptr + cols)
    tl.store(y_ptr + at, y)


@pytest.mark.parametrize("n", [768, 1536])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_layer_norm(device, rng, n, dtype):
    x = rng.standard_normal((3, n)).astype(dtype)
    w, b = rng.standard_normal((2, n)).astype(dtype)
    y = device.poison((3, n), dtype)
    layer_norm_kernel[(3,)](y, device.put(x), device.put(w), device.put(b), n)
    d = x.astype(np.float64)
    d -= d.mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    tol = 2e-5 if dtype == np.float32 else 1e-2
    np.testing.assert_allclose(device.get(y), want, rtol=tol, atol=tol)


@triton.jit
def matmul_kernel(
    c_ptr, a_ptr, b_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, input_precision="ieee"))


@pytest.mark.parametrize("m,n,k", [(96, 80, 48), (5, 7, 3), (16, 16, 100)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_one_matmul(device, rng, m, n, k, dtype):
    """What stands behind the matrices in memory is NaN: no product may see it."""
    a, b = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    there = [np.full(x.size + 4096, np.nan, dtype) for x in (a, b)]
    for x, t in zip((a, b), there, strict=True):
        t[: x.size] = x.ravel()
    c = device.poison((m, n), np.float32)
    matmul_kernel[(1,)](c, *(device.put(t) for t in there), m, n, k)
    np.testing.assert_array_equal(device.get(c), a @ b)


@triton.jit
def moving_kernel(out_ptr, x_ptr, steps, n: tl.constexpr):
    """A block through a loop and a branch, with its true shape in sight."""
    i = tl.arange(0, n)
    x = tl.load(x_ptr + i)
    tl.static_assert(x.shape[0] == n)
    tl.static_assert(x.numel == n)
    acc = tl.zeros([n], tl.float32)
    low = tl.full((n,), 1e9, tl.float32)
    for k in range(steps):
        if k % 2 == 0:
            acc += x * k
        else:
            acc -= tl.flip(x)
        low = tl.minimum(low, acc)
    for k in tl.static_range(2):
        acc += k
    while tl.sum(acc, 0) > 0:
        acc -= 1
    tl.store(out_ptr + i, acc)
    tl.store(out_ptr + n + i, low)


@pytest.mark.parametrize("n", [3, 24, 100])
def test_loop(device, n):
    x = np.arange(n, dtype=np.float32) - n // 3
    out = device.poison((3, n), np.float32)
    moving_kernel[(1,)](out, device.put(x), 5, n)
    acc, low = np.zeros(n, np.float32), np.full(n, 1e9, np.float32)
    for k in range(5):
        acc = acc + x * k if k % 2 == 0 else acc - x[::-1]
        low = np.minimum(low, acc)
    acc = acc + 1
    while acc.sum() > 0:
        acc = acc - 1
    got = device.get(out)
    np.testing.assert_array_equal(got[0], acc)
    np.testing.assert_array_equal(got[1], low)
    assert np.isnan(got[2]).all()


@triton.jit
def windows_kernel(out_ptr, x_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    """A block pointer and a descriptor over the edge of a matrix."""
    p = tl.make_block_ptr(x_ptr, (rows, cols), (cols, 1), (0, 0), (R, C), (1, 0))
    p = tl.advance(p, (1, 2))
    x = tl.load(p, boundary_check=(0, 1), padding_option="zero")
    d = tl.make_tensor_descriptor(out_ptr, [rows, cols], [cols, 1], [R, C])
    y = tl.make_tensor_descriptor(x_ptr, [rows, cols], [cols, 1], [R, C])
    d.store([1, 2], x + y.load([rows - 2, -1]))


@pytest.mark.parametrize("r,c", [(3, 5), (24, 40)])
def test_windows(device, rng, r, c):
    x = rng.integers(1, 9, (20, 30)).astype(np.float32)
    out = device.put(np.zeros((20, 30), np.float32))
    windows_kernel[(1,)](out, device.put(x), 20, 30, r, c)
    wide = np.pad(x, 64)
    a = wide[65 : 65 + r, 66 : 66 + c] + wide[64 + 18 : 64 + 18 + r, 63 : 63 + c]
    want = np.zeros((20, 30))
    part = want[1 : 1 + r, 2 : 2 + c]
    part[:] = a[: part.shape[0], : part.shape[1]]
    np.testing.assert_array_equal(device.get(out), want)


@triton.jit
def wide_kernel(out_ptr, x_ptr, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * 2)


@pytest.mark.parametrize(
    "n,elem,vector", [(96, "fp32", "v4.b32"), (1000, "fp16", "v4.b32")]
)
def test_vectors(n, elem, vector):
    """Where the side is a multiple of a vector, 16 bytes are read at a time."""
    k = wide_kernel.compile(
        f"*{elem}:16", f"*{elem}:16", n=n, target="cuda:sm_80", num_warps=1
    )
    loads = [s for s in k.asm["ptx"].splitlines() if "ld.global" in s]
    assert loads and all(vector in s for s in loads), loads


def test_report():
    """Each shape once, where it is first seen."""
    lines = matmul_kernel.compile("*fp32", "*fp16", "*fp16", M=96, N=80, K=48).report
    padding = [line for line in lines.splitlines() if " padding " in line]
    blocks = [
        f"blocks of {shape} are padded" in lines for shape in ("[96]", "[96, 80]")
    ]
    assert all(blocks), lines
    assert "are padded to [128]: 25% of the elements are unused" in padding[0]
    assert "dot of [96, 48] and [48, 80] is padded to [128, 64] and [64, 128]" in lines
    assert len(padding) == 7, lines
    k = matmul_kernel.compile("*fp32", "*fp16", "*fp16", M=64, N=32, K=16)
    assert " padding " not in k.report
