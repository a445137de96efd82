"""Functions that combine elements may use the numbers around them."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def reduce_kernel(x, out, least, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    v = tl.load(x + i[:, None] * COLS + j[None, :])
    # A parameter; what was loaded; what another reduction of the same block gave.
    step = tl.load(x + 3)
    top = tl.max(tl.max(v, 1), 0)

    def above(a, b):
        # Sums what is above the parameter, clipped; associative, for counts.
        return tl.minimum(a + b, top + least)

    tl.store(out + i, tl.reduce(tl.abs(v), 1, above))
    tl.store(
        out + ROWS, tl.reduce(v, None, lambda a, b: tl.maximum(tl.maximum(a, b), step))
    )
    wins = n > 2
    tl.store(out + ROWS + 1 + j, tl.reduce(v, 0, lambda a, b: a | b if wins else a & b))


@pytest.mark.parametrize("shape", [(16, 32), (1, 64), (5, 12), (64, 1)])
@pytest.mark.parametrize("n", [2, 3])
def test_reduce(device, rng, shape, n):
    rows, cols = shape
    x = rng.integers(-9, 10, shape).astype(np.int32)
    out = device.poison(rows + 1 + cols, np.int32)
    reduce_kernel[(1,)](device.put(x), out, 5, n, rows, cols)
    got = device.get(out)
    limit = x.max() + 5
    want = np.abs(x)[:, 0].copy()
    for k in range(1, cols):
        want = np.minimum(want + np.abs(x)[:, k], limit)
    assert np.array_equal(got[:rows], want)
    assert got[rows] == max(x.max(), x.ravel()[3])
    both = np.bitwise_or if n > 2 else np.bitwise_and
    assert np.array_equal(got[rows + 1 :], both.reduce(x, axis=0))


@tegula.jit
def scan_kernel(x, out, scale, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    for k in range(2):
        add = scale + k

        def affine(a, b, c, d):
            # x -> c (a x + b) + d modulo what is around: associative
            return (a * c) % add, (b * c + d) % add  # noqa: B023

        a, b = tl.associative_scan((v, v + k), 0, affine, reverse=REVERSE)
        tl.store(out + k * 2 * N + i, a)
        tl.store(out + k * 2 * N + N + i, b)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [64, 256, 24])
def test_scan(device, rng, n, reverse):
    x = rng.integers(0, 50, n).astype(np.int64)
    out = device.poison(4 * n, np.int64)
    scan_kernel[(1,)](device.put(x), out, 101, n, reverse)
    got = device.get(out).reshape(2, 2, n)
    for k in range(2):
        order = range(n - 1, -1, -1) if reverse else range(n)
        a = b = None
        for at in order:
            c, d = int(x[at]), int(x[at]) + k
            if a is None:
                a, b = c, d
            else:
                a, b = a * c % (101 + k), (b * c + d) % (101 + k)
            assert (got[k, 0, at], got[k, 1, at]) == (a, b)


@tegula.jit
def looped_kernel(x, out, n, BLOCK: tl.constexpr):
    """The value from outside is carried by the loop, and the loop is pipelined."""
    i = tl.arange(0, BLOCK)
    floor = tl.load(x).to(tl.float32)
    for k in tl.range(0, n, num_stages=3):
        v = tl.load(x + k * BLOCK + i)

        def most(a, b):
            r = tl.maximum(a, b)
            if r < floor:  # noqa: B023
                r = floor  # noqa: B023
            return r

        floor = tl.reduce(v, 0, most) - 1.0
        tl.store(out + k, floor)


def test_carried(device, rng):
    n, block = 5, 128
    x = rng.standard_normal((n, block)).astype(np.float32)
    out = device.poison(n, np.float32)
    looped_kernel[(1,)](device.put(x), out, n, block)
    floor = x[0, 0]
    for k in range(n):
        floor = max(x[k].max(), floor) - np.float32(1)
        assert device.get(out)[k] == floor


@tegula.jit
def outer_kernel(x, out, n, m, N: tl.constexpr):
    """One op, though not of the two arguments: no sum."""
    v = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.reduce(v, 0, lambda a, b: n + m))
    tl.store(out + 1, tl.reduce(v, 0, lambda a, b: n))


@pytest.mark.parametrize("size", [64, 100])
def test_not_a_sum(device, size):
    out = device.poison(2, np.float32)
    x = device.put(np.arange(size, dtype=np.float32))
    outer_kernel[(1,)](x, out, 3.0, 4.0, size)
    assert device.get(out).tolist() == [7, 3]


@tegula.jit
def map_kernel(x, out, least, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    top = tl.max(v, 0)

    def clip(a):
        if a < least:
            a = least
        return top - a

    tl.store(out + i, tl.map_elementwise(clip, v))


def test_map(device, rng):
    x = rng.integers(-9, 10, 64).astype(np.int32)
    out = device.poison(64, np.int32)
    map_kernel[(1,)](device.put(x), out, 2, 64)
    assert np.array_equal(device.get(out), x.max() - np.maximum(x, 2))


@tegula.jit
def promoted(x):
    return x + tl.zeros((1,), tl.int1)


@tegula.jit
def least_of(a, b):
    smaller = a < b
    if promoted(a).dtype.is_floating():  # a block, whose type alone is looked at
        smaller |= a != a
    return tl.where(smaller, a, b)


@tegula.jit
def least_kernel(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    v = tl.load(x + i[:, None] * COLS + j[None, :])
    tl.store(out + i, tl.reduce(v, 1, least_of))


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_block_that_is_asked_for_its_type(dtype, interpret, rng):
    """Neither checks of overflows nor marks for debuggers count as uses of it."""
    x = rng.integers(-100, 100, (4, 5)).astype(dtype)
    out = np.zeros(4, dtype)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = interpret
        options = {} if interpret else {"debug": True, "sanitize_overflow": True}
        least_kernel[(1,)](x, out, 4, 5, **options)
    np.testing.assert_array_equal(out, x.min(1))


@tegula.jit
def positions_kernel(x, out, spread, rows, N: tl.constexpr):
    i = tl.arange(0, N)
    for row in range(rows):
        v = tl.load(x + row * N + i)
        # Only thread 0 wants the first two; all threads want the last.
        tl.store(out + 2 * row, tl.argmax(v, 0) + 1)
        tl.store(out + 2 * row + 1, tl.argmin(v, 0, tie_break_left=True))
        tl.store(spread + row * N + i, i - tl.argmax(v, 0))


@pytest.mark.parametrize("n", [32, 256, 2048])
@pytest.mark.parametrize("num_warps", [1, 2, 4, 16])
def test_positions(device, rng, n, num_warps):
    x = rng.integers(0, 6, (3, n)).astype(np.float32)  # many are equal
    out, spread = device.poison((3, 2), np.int32), device.poison((3, n), np.int32)
    positions_kernel[(1,)](device.put(x), out, spread, 3, n, num_warps=num_warps)
    first, last = x.argmax(1), x.argmin(1)
    assert np.array_equal(device.get(out), np.stack([first + 1, last], 1))
    assert np.array_equal(device.get(spread), np.arange(n) - first[:, None])
