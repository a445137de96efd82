"""What kernels may say here and not in Triton, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def chained(x, out, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    inside = low < v <= high
    r = tl.where(inside, v, 0)
    if 0 <= low < high != 7:
        r = r + 100
    if 1 < N < 100:
        r = r + 1000
    if 1 < N > 100:
        r = r + tl.load(x + undefined)  # noqa: F821
    tl.store(out + i, r)


@pytest.mark.parametrize("low,high", [(2, 9), (-3, 4), (5, 2), (3, 7)])
def test_chained_comparisons(run: Any, low: int, high: int) -> None:
    x = np.arange(-8, 24, dtype=np.int32)
    out = np.zeros(32, np.int32)
    run(chained, x, out, low, high, N=32)
    want = np.where((low < x) & (x <= high), x, 0) + 1000
    assert np.array_equal(out, want + (100 if 0 <= low < high != 7 else 0))


@tegula.jit
def slices(x, out, k):
    r = tl.arange(0, 16)[:, None]
    c = tl.arange(0, 32)[None, :]
    v = tl.load(x + r * 32 + c)
    i = tl.arange(0, 16)
    tl.store(out + r * 8 + tl.arange(0, 8)[None, :], v[:, 8:16])
    tl.store(out + 128 + i, v[3, ::2])
    tl.store(out + 144 + i, v[::-1, 5])
    tl.store(out + 160, v[2, -1])
    tl.store(out + 161, v[k, k + 1])
    tl.store(out + 162 + tl.arange(0, 4)[None, :], v[k, None, 30:][:, ::-1][:, :1])
    mask = (v > 40.0)[1]
    tl.store(out + 166 + tl.arange(0, 32), mask.to(tl.float32))
    s = v[0, 0]
    tl.store(out + 198, s)


def test_slices(run: Any) -> None:
    v = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    out = np.zeros(199, np.float32)
    run(slices, v, out, 6)
    want = np.concatenate(
        [
            v[:, 8:16].ravel(),
            v[3, ::2],
            v[::-1, 5],
            [v[2, -1], v[6, 7]],
            np.full(4, v[6, 31]),
            (v > 40)[1],
            [v[0, 0]],
        ]
    )
    assert np.array_equal(out, want)


@tegula.jit
def dots(x, out):
    v = tl.load(x + tl.arange(0, 64)).reshape(2, 4, 8)
    tl.static_assert(v[None, ...].shape == [1, 2, 4, 8])
    tl.static_assert(v[..., None].shape == [2, 4, 8, 1])
    tl.static_assert(v[..., :, None, :].shape == [2, 4, 1, 8])
    tl.static_assert(v[:, 1, 2, ...].shape == [2])
    tl.store(out + tl.arange(0, 4), v[1, ..., 3])
    tl.store(out + 4 + tl.arange(0, 8).reshape(4, 2), v[1, ..., 2:4])


def test_dots(run: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(12, np.float32)
    run(dots, x, out)
    v = x.reshape(2, 4, 8)
    assert np.array_equal(out, np.append(v[1, ..., 3], v[1, ..., 2:4]))


@tegula.jit
def cats(x, out, N: tl.constexpr, M: tl.constexpr, DIM: tl.constexpr):
    a = tl.load(x + tl.arange(0, N * 6)).reshape((N, 6) if DIM == 0 else (6, N))
    b = tl.load(x + 500 + tl.arange(0, M * 6)).reshape((M, 6) if DIM == 0 else (6, M))
    c = tl.cat(a, b, dim=DIM)
    tl.static_assert(c.numel == (N + M) * 6)
    tl.store(out + tl.arange(0, (N + M) * 6), tl.ravel(c))


@pytest.mark.parametrize("n,m", [(5, 3), (1, 8), (32, 16), (9, 9)])
@pytest.mark.parametrize("dim", [0, 1])
def test_cat_of_any_lengths(run: Any, n: int, m: int, dim: int) -> None:
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros((n + m) * 6, np.float32)
    run(cats, x, out, N=n, M=m, DIM=dim)
    shapes = [(k, 6) if dim == 0 else (6, k) for k in (n, m)]
    parts = x[: n * 6].reshape(shapes[0]), x[500 : 500 + m * 6].reshape(shapes[1])
    assert np.array_equal(out, np.concatenate(parts, dim).ravel())


@tegula.jit
def slice_objects(x, out):
    v = tl.load(x + tl.arange(0, 12)).reshape(3, 4)
    part: tl.constexpr = tl.slice(1, None)
    tl.store(out + tl.arange(0, 4), v[part, tl.slice(None, None, 2)].ravel())
    t = (tl.load(x), 2.5, x)
    tl.static_assert(t.type.types[1] == tl.float32 and t.type[2] == x.type)
    tl.store(out + 4, t[tl.slice(1, 2)][0].to(tl.int32))


def test_slices_as_objects(run: Any) -> None:
    x = np.arange(12, dtype=np.int32)
    out = np.zeros(5, np.int32)
    run(slice_objects, x, out)
    assert out.tolist() == [*x.reshape(3, 4)[1:, ::2].ravel(), 2]
