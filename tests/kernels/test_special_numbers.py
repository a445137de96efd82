"""Infinities, NaNs and subnormals where elements are split, packed or moved."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def dot_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision=PRECISION)
    tl.store(out_ptr + at, c)


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3"])
def test_infinite_factors(device, rng, precision):
    n = 32
    a = rng.integers(1, 9, (n, n)).astype(np.float32)
    b = rng.integers(1, 9, (n, n)).astype(np.float32)
    a += np.float32(2**-15)  # has a low part; b has none
    a[3, 5], a[4, 6], a[5, 7], a[6, :2] = np.inf, -np.inf, np.nan, (np.inf, -np.inf)
    b[8, 9], b[10, 11], b[5, 20] = np.inf, np.nan, 0.0
    out = device.poison((n, n), np.float32)
    dot_kernel[(1,)](device.put(a), device.put(b), out, n, precision)
    with np.errstate(invalid="ignore"):
        want = a.astype(np.float64) @ b.astype(np.float64)
    got = device.get(out)
    odd = ~np.isfinite(want)
    assert np.array_equal(got[odd], want[odd].astype(np.float32), equal_nan=True)
    bound = 1e-6 if precision != "tf32" else 1e-3
    np.testing.assert_allclose(got[~odd], want[~odd], rtol=bound)


@triton.jit
def moved_kernel(
    x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr, SCALED: tl.constexpr
):
    """Through shared memory, by words of two: another layout, a gather, a reduction."""
    x_ptr = x_ptr.to(tl.pointer_type(tl.bfloat16))
    out_ptr = out_ptr.to(tl.pointer_type(tl.bfloat16))
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    at = tl.program_id(0) * ROWS * COLS + i[:, None] * COLS + j[None, :]
    x = tl.load(x_ptr + at)
    if SCALED:
        x = (x * 1.0).to(tl.bfloat16)
    y = tl.gather(x, (ROWS - 1 - i)[:, None] + 0 * j[None, :], 0)
    y = tl.trans(tl.flip(tl.trans(y), 0))
    tl.store(out_ptr + at, y)


@pytest.mark.parametrize("scaled", [False, True])
def test_every_bfloat16_moves_unchanged(device, scaled):
    rows, cols = 32, 64
    x = np.arange(2**16, dtype=np.uint16)
    if scaled:  # a NaN's bits are nobody's promise
        x[(x & 0x7FFF) > 0x7F80] = 0
    out = device.poison(2**16, np.uint16)
    moved_kernel[(2**16 // (rows * cols),)](device.put(x), out, rows, cols, scaled)
    want = x.reshape(-1, rows, cols)[:, ::-1, ::-1].ravel()
    assert np.array_equal(device.get(out), want)


@triton.jit
def quotient_kernel(x_ptr, d_ptr, bits_ptr, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    q = tl.load(x_ptr + i) / tl.load(d_ptr + row)
    tl.store(bits_ptr + row * N + i, q.to(tl.int32, bitcast=True))


def any_floats(rng, n):
    """All kinds of bits, ordinary numbers, and the special ones."""
    x = rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
    x[::2] = rng.standard_normal(len(x[::2])) * 10.0 ** rng.integers(-8, 8, len(x[::2]))
    tiny, least, most = 1e-45, 2.0**-126, np.finfo(np.float32).max
    x[:14] = [
        0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        tiny,
        -tiny,
        least,
        most,
        -most,
        3,
        7,
        448,
        1,
    ]
    return x


def test_quotients_that_are_rounded_to_steps():
    """On the CPU they are exact: a quantised number beside another program's may stand on a
    tie. (The divisor is one for all lanes: a product with its reciprocal would be off.)"""
    rng = np.random.default_rng(3)
    x, d = any_floats(rng, 1100), any_floats(rng, 800)
    x = x[(x == 0) | ~(np.abs(x) <= 2.0**-102)][:512]
    n = x.size
    bits = np.zeros((d.size, n), np.int32)
    quotient_kernel[(d.size,)](x, d, bits, n)
    with np.errstate(all="ignore"):
        want = x / d[:, None]
    got = bits.view(np.float32)
    number = ~np.isnan(want)
    assert np.isnan(got[~number]).all()
    assert np.array_equal(bits[number], want.view(np.int32)[number])
