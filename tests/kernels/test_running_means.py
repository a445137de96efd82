"""Means and squared distances by Welford's way, as torch.compile writes them: what warps
found is combined once, not by all."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def join(m1, q1, n1, m2, q2, n2):
    n = n1 + n2
    part = tl.where(n == 0, 0.0, n2 / n)
    d = m2 - m1
    return m1 + d * part, q1 + q2 + d * d * n1 * part, n


@tegula.jit
def columns(x, mean, var, last, rows, n, X: tl.constexpr, R: tl.constexpr):
    """Of n columns the first X; lanes hold neighbours, warps hold rows."""
    i = tl.arange(0, X)[:, None]
    r = tl.arange(0, R)[None, :]
    m = tl.zeros((X, R), tl.float32)
    q = tl.zeros((X, R), tl.float32)
    seen = tl.zeros((X, R), tl.float32)
    for at in range(0, rows, R):
        v = tl.load(x + i + (at + r) * n)
        more = seen + 1
        if at == 0:
            m, q, more = v, q, tl.full((X, R), 1, tl.float32)
        else:
            d = v - m
            m += d / more
            q += d * (v - m)
        seen = more
    m, q, w = tl.reduce((m, q, seen), 1, join)
    at = tl.arange(0, X)
    tl.store(mean + at, m)
    tl.store(var + at, q / w)
    tl.store(last + at, w)


@pytest.mark.parametrize("shape", [(64, 64, 16), (64, 8, 4), (16, 64, 4), (8, 128, 8)])
def test_columns(device, rng, shape):
    side, step, warps = shape
    rows, n = 2 * step, 68
    x = rng.standard_normal((rows, n)).astype(np.float32) + 3
    mean, var, last = (device.poison(side, np.float32) for _ in range(3))
    columns[(1,)](device.put(x), mean, var, last, rows, n, side, step, num_warps=warps)
    want = x[:, :side].astype(np.float64)
    np.testing.assert_allclose(device.get(mean), want.mean(0), rtol=1e-5)
    np.testing.assert_allclose(device.get(var), want.var(0), rtol=1e-4)
    np.testing.assert_array_equal(device.get(last), rows)


@tegula.jit
def first_and_last(x, out, X: tl.constexpr, R: tl.constexpr):
    """Keeps the order, and is long: (first, last, sum, how often the left was larger)."""
    i, r = tl.arange(0, X)[:, None], tl.arange(0, R)[None, :]
    v = tl.load(x + i * R + r)

    def both(a, b, s, k, c, d, t, j):
        falls = tl.where(b > c, 1, 0)
        # 1, whatever a GPU's division is like: what is kept is compared with > again.
        ratio = tl.where(tl.exp(tl.log(a + 1.0)) > -1.0, 1.0, 0.0)
        return a * ratio, d, s + t, k + j + falls

    falls = tl.zeros((X, R), tl.int32)
    a, b, s, k = tl.reduce((v, v, v, falls), 1, both)
    at = out + tl.arange(0, X) * 4
    tl.store(at, a)
    tl.store(at + 1, b)
    tl.store(at + 2, s)
    tl.store(at + 3, k.to(tl.float32))


@pytest.mark.parametrize(
    "shape", [(64, 64, 16), (4, 128, 8), (128, 16, 4), (1, 512, 4)]
)
def test_order(device, rng, shape):
    side, n, warps = shape
    x = rng.integers(0, 50, (side, n)).astype(np.float32)
    out = device.poison((side, 4), np.float32)
    first_and_last[(1,)](device.put(x), out, side, n, num_warps=warps)
    got = device.get(out)
    np.testing.assert_array_equal(got[:, 0], x[:, 0])
    np.testing.assert_array_equal(got[:, 1], x[:, -1])
    np.testing.assert_array_equal(got[:, 2], x.sum(1))
    if device.target != "cpu":  # whose order is its own
        np.testing.assert_array_equal(got[:, 3], (x[:, :-1] > x[:, 1:]).sum(1))
