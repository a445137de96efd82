"""Ops that threads do together, and loops, on blocks with more registers than a thread.

See test_large_blocks.py. The blocks are of 512 words a thread, the fewest that are kept in
local memory.
"""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def scan_rows(
    x_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    AXIS: tl.constexpr,
    REVERSE: tl.constexpr,
):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), AXIS, reverse=REVERSE))


@tegula.jit
def later(a, b, c, d):
    """Linear functions one after the other: the order matters."""
    return a * c, b * c + d


@tegula.jit
def compose(a_ptr, b_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.associative_scan((tl.load(a_ptr + i), tl.load(b_ptr + i)), 0, later)
    tl.store(out_ptr + i, a)
    tl.store(out_ptr + B + i, b)


@tegula.jit
def compose_from_the_end(a_ptr, b_ptr, M: tl.constexpr, N: tl.constexpr):
    """By addresses of which nobody knows that they are rows."""
    at = tl.reshape(tl.arange(0, M * N), (M, N))
    both = tl.load(a_ptr + at), tl.load(b_ptr + at)
    a, b = tl.associative_scan(both, 0, later, reverse=True)
    tl.store(a_ptr + at, a)
    tl.store(b_ptr + at, b)


@tegula.jit
def transpose(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.trans(tl.load(x_ptr + m[:, None] * N + n[None, :]))
    tl.store(out_ptr + n[:, None] * M + m[None, :], x + x)


@tegula.jit
def beside(x_ptr, out_ptr, rows_ptr, B: tl.constexpr):
    """Reductions and scans of what another layout's registers make."""
    m, n = tl.arange(0, B), tl.arange(0, B)
    at = m[:, None] * B + n[None, :]
    x = tl.load(x_ptr + at)
    y = tl.trans(x) - 2 * x
    tl.store(rows_ptr + m, tl.sum(y, 1))
    tl.store(rows_ptr + B + n, tl.max(y, 0))
    z = tl.cumsum(y, 0)
    tl.store(out_ptr + at, z + tl.argmax(z, 1)[:, None])


@tegula.jit
def both_ways(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    """Scans that no loop over slices can do together."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    up = tl.cumsum(x, 0, reverse=True)
    tl.store(out_ptr + at, tl.cumsum(up, 0) + tl.cumsum(up, 1))


@tegula.jit
def look_up(
    x_ptr, at_ptr, out_ptr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + i, tl.gather(tl.load(x_ptr + i), tl.load(at_ptr + i), AXIS))


@tegula.jit
def count(x_ptr, out_ptr, n, B: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, B)
    found = tl.histogram(tl.load(x_ptr + i), BINS, mask=i < n)
    tl.store(out_ptr + tl.arange(0, BINS), found)


@tegula.jit
def halves(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    both = tl.join(tl.load(x_ptr + i), tl.load(y_ptr + i))
    x, y = tl.split(both * 2)
    tl.store(out_ptr + i, x)
    tl.store(out_ptr + B + i, y)
    i = tl.arange(0, 2 * B)
    tl.store(out_ptr + 2 * B + i, tl.cat(x, y, can_reorder=True))
    tl.store(out_ptr + 4 * B + i, tl.interleave(y, x))


@tegula.jit
def steps(x_ptr, out_ptr, n, B: tl.constexpr):
    """Blocks that a loop carries, each made of the other."""
    i = tl.arange(0, B)
    a, b = tl.load(x_ptr + i), tl.load(x_ptr + B + i)
    total = tl.zeros((B,), tl.int32)
    for k in range(n):
        total += a
        a, b = b, a - b
        if k == 1:
            b = b + total
    while n > 3:
        a, b = b * 3 + n, a
        n -= 1
    tl.store(out_ptr + i, a)
    tl.store(out_ptr + B + i, b)
    tl.store(out_ptr + 2 * B + i, total)


@tegula.jit
def turns(x_ptr, out_ptr, n, B: tl.constexpr):
    """Blocks that loops carry and that are not cut: other registers make each."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a, b = tl.load(x_ptr + at), tl.load(x_ptr + B * B + at)
    first = a
    for k in range(n):
        a, b = tl.trans(a) + b, a
        if k != 1:
            a = a * 2 - tl.cumsum(b, 1)
    while n > 2:
        a, b = b - tl.trans(b), a
        n -= 1
    tl.store(out_ptr + at, a)
    tl.store(out_ptr + B * B + at, b)
    tl.store(out_ptr + 2 * B * B + at, first)


@tegula.jit
def sort(x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x_ptr + i, tl.sort(tl.load(x_ptr + i)))


@tegula.jit
def column_sums(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    """More results than a chunk has, from all warps."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.device_assert(x < 100, "small")
    tl.store(out_ptr + tl.arange(0, N), tl.sum(x, 0))


@tegula.jit
def add_by_hand(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    r = tl.inline_asm_elementwise(
        "add.u32 $0, $1, $2;",
        "=r,r,r",
        [x, y],
        dtype=tl.uint8,
        is_pure=True,
        pack=4,
    )
    tl.store(out_ptr + i, r)


@tegula.jit
def fetch(to_ptr, out_ptr, B: tl.constexpr):
    """What an atomic found is asked for."""
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.atomic_add(to_ptr + i, i))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "shape, warps", [((64, 256), 1), ((1024, 16), 1), ((256, 256), 4), ((2, 65536), 4)]
)
def test_scan(device, rng, shape, warps, axis, reverse):
    x = rng.integers(-99, 99, shape).astype(np.int32)
    out = device.poison(shape, np.int32)
    M, N = shape
    scan_rows[(1,)](
        device.put(x), out, M=M, N=N, AXIS=axis, REVERSE=reverse, num_warps=warps
    )
    step = -1 if reverse else 1
    want = np.flip(x, axis) if reverse else x
    want = want.cumsum(axis, dtype=np.int32)
    np.testing.assert_array_equal(
        device.get(out), np.flip(want, axis) if step < 0 else want
    )


@pytest.mark.parametrize("warps", [1, 2])
def test_compose(device, rng, warps):
    n = 16384 * warps
    a = rng.integers(-9, 9, n, dtype=np.int64)
    b = rng.integers(-9, 9, n, dtype=np.int64)
    out = device.poison(2 * n, np.int64)
    compose[(1,)](device.put(a), device.put(b), out, B=n, num_warps=warps)
    want, x, y = np.empty(2 * n, np.int64), 1, 0
    for i in range(n):
        x, y = x * int(a[i]), y * int(a[i]) + int(b[i])
        x, y = ((v + 2**63) % 2**64 - 2**63 for v in (x, y))
        want[i], want[n + i] = x, y
    np.testing.assert_array_equal(device.get(out), want)


def test_a_scan_has_room():
    """Two blocks of 32 KB, and which of their elements are padding, do not fit in the 64 KB
    of sm_75: warps take rows side by side, and tell each other a number for each column."""
    source = tegula.ASTSource(
        compose_from_the_end,
        {"a_ptr": "*i32", "b_ptr": "*i32", "M": "constexpr", "N": "constexpr"},
        {"M": 48, "N": 80},
    )
    compiled = tegula.compile(source, target="cuda:sm_75")
    assert compiled.metadata.shared < 64 << 10


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "shape, warps", [((128, 128), 1), ((4096, 8), 1), ((64, 1024), 4)]
)
def test_transpose(device, rng, shape, warps, dtype):
    M, N = shape[0] * 4 // min(np.dtype(dtype).itemsize, 4), shape[1]
    x = rng.integers(-50, 50, (M, N)).astype(dtype)
    out = device.poison((N, M), dtype)
    transpose[(1,)](device.put(x), out, M=M, N=N, num_warps=warps)
    np.testing.assert_array_equal(device.get(out), (x + x).T)


@pytest.mark.parametrize("warps, dtype", [(8, np.float32), (16, np.float64)])
def test_transpose_through_little(device, rng, warps, dtype):
    """The block is larger than shared memory, and no register's bit stays one."""
    x = rng.integers(-50, 50, (256, 256)).astype(dtype)
    out = device.poison((256, 256), dtype)
    transpose[(1,)](device.put(x), out, M=256, N=256, num_warps=warps)
    np.testing.assert_array_equal(device.get(out), (x + x).T)


@pytest.mark.parametrize("warps, n", [(1, 128), (4, 256)])
def test_beside(device, rng, warps, n):
    x = rng.integers(-50, 50, (n, n)).astype(np.int32)
    out, rows = device.poison((n, n), np.int32), device.poison((2, n), np.int32)
    beside[(1,)](device.put(x), out, rows, B=n, num_warps=warps)
    y = x.T - 2 * x
    z = y.cumsum(0, dtype=np.int32)
    np.testing.assert_array_equal(device.get(rows), [y.sum(1), y.max(0)])
    np.testing.assert_array_equal(device.get(out), z + z.argmax(1)[:, None])


@pytest.mark.parametrize(
    "shape, warps", [((64, 256), 1), ((256, 256), 4), ((2, 65536), 4)]
)
def test_both_ways(device, rng, shape, warps):
    x = rng.integers(-9, 9, shape).astype(np.int32)
    out = device.poison(shape, np.int32)
    both_ways[(1,)](device.put(x), out, M=shape[0], N=shape[1], num_warps=warps)
    up = np.flip(np.flip(x, 0).cumsum(0, dtype=np.int32), 0)
    want = up.cumsum(0, dtype=np.int32) + up.cumsum(1, dtype=np.int32)
    np.testing.assert_array_equal(device.get(out), want)


@pytest.mark.parametrize("axis", [0, 1])
def test_look_up(device, rng, axis):
    shape = (128, 256)
    x = rng.integers(-99, 99, shape).astype(np.int16)
    at = rng.integers(0, shape[axis], shape).astype(np.int32)
    out = device.poison(shape, np.int16)
    look_up[(1,)](
        device.put(x), device.put(at), out, AXIS=axis, M=128, N=256, num_warps=1
    )
    np.testing.assert_array_equal(device.get(out), np.take_along_axis(x, at, axis))


@pytest.mark.parametrize("warps", [1, 4])
def test_count(device, rng, warps):
    n = 16384 * warps
    x = rng.integers(-3, 70, n).astype(np.int32)
    out = device.poison(64, np.int32)
    count[(1,)](device.put(x), out, n - 5, B=n, BINS=64, num_warps=warps)
    used = x[: n - 5]
    want = np.bincount(used[(used >= 0) & (used < 64)], minlength=64)
    np.testing.assert_array_equal(device.get(out), want)


def test_halves(device, rng):
    n = 16384
    x, y = rng.integers(-99, 99, (2, n)).astype(np.int32)
    out = device.poison(6 * n, np.int32)
    halves[(1,)](device.put(x), device.put(y), out, B=n, num_warps=1)
    got = device.get(out)
    np.testing.assert_array_equal(got[: 2 * n], np.concatenate([2 * x, 2 * y]))
    np.testing.assert_array_equal(np.sort(got[2 * n : 4 * n]), np.sort(got[: 2 * n]))
    np.testing.assert_array_equal(got[4 * n :: 2], 2 * y)
    np.testing.assert_array_equal(got[4 * n + 1 :: 2], 2 * x)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_steps(device, rng, n):
    x = rng.integers(-99, 99, (2, 16384)).astype(np.int32)
    out = device.poison((3, 16384), np.int32)
    steps[(1,)](device.put(x), out, n, B=16384, num_warps=1)
    a, b = x
    total = np.zeros_like(a)
    for k in range(n):
        total = total + a
        a, b = b, a - b
        if k == 1:
            b = b + total
    for k in range(n, 3, -1):
        a, b = b * 3 + k, a
    np.testing.assert_array_equal(device.get(out), [a, b, total])


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_turns(device, rng, n):
    x = rng.integers(-9, 9, (2, 128, 128)).astype(np.int32)
    out = device.poison((3, 128, 128), np.int32)
    turns[(1,)](device.put(x), out, n, B=128, num_warps=1)
    a, b = x
    for k in range(n):
        a, b = a.T + b, a
        if k != 1:
            a = a * 2 - b.cumsum(1, dtype=np.int32)
    for _ in range(n, 2, -1):
        a, b = b - b.T, a
    np.testing.assert_array_equal(device.get(out), [a, b, x[0]])


def test_fetch(device, rng):
    x = rng.integers(-99, 99, 16384).astype(np.int32)
    to, out = device.put(x), device.poison(16384, np.int32)
    fetch[(1,)](to, out, B=16384, num_warps=1)
    np.testing.assert_array_equal(device.get(out), x)
    np.testing.assert_array_equal(device.get(to), x + np.arange(16384))


def test_sort(device, rng):
    x = rng.integers(-9999, 9999, 8192).astype(np.int32)
    at = device.put(x)
    sort[(1,)](at, B=8192, num_warps=1)
    np.testing.assert_array_equal(device.get(at), np.sort(x))


@pytest.mark.parametrize("warps", [2, 4])
@pytest.mark.parametrize("shape", [(16, 8192), (64, 2048), (2, 65536)])
def test_column_sums(device, rng, shape, warps):
    x = rng.integers(-99, 99, shape).astype(np.int32)
    out = device.poison(shape[1], np.int32)
    column_sums[(1,)](
        device.put(x), out, M=shape[0], N=shape[1], num_warps=warps, debug=True
    )
    np.testing.assert_array_equal(device.get(out), x.sum(0, dtype=np.int32))


def test_assembly(device, rng):
    x, y = rng.integers(0, 100, (2, 65536)).astype(np.uint8)
    out = device.poison(65536, np.uint8)
    add_by_hand[(1,)](device.put(x), device.put(y), out, B=65536, num_warps=1)
    np.testing.assert_array_equal(device.get(out), x + y)
