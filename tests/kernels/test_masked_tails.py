"""Rows that are shorter than their block on a CPU: what masks leave out is neither loaded
nor stored, and a reduction says of the rest what it says of all."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl

LENGTHS = [1, 2, 3, 31, 32, 33, 47, 64, 65, 127, 129, 200, 255, 256, 300, 511, 512]
BLOCK = 512
AROUND = 32  # elements of poison on either side


@tegula.jit
def row(x_ptr, y_ptr, z_ptr, out_ptr, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    low = tl.load(x_ptr + c, mask=c < n, other=-float("inf"))
    most = tl.max(low, 0)
    e = tl.exp(low.to(tl.float32) - most.to(tl.float32))
    total = tl.sum(e, 0)
    tl.store(y_ptr + c, e / total, mask=c < n)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0)
    d = tl.where(c < n, x.to(tl.float32) - 1, 0.0)
    tl.store(z_ptr + c, d, mask=c < n)
    tl.store(out_ptr, most.to(tl.float32))
    tl.store(out_ptr + 1, tl.sum(x, 0).to(tl.float32))
    tl.store(out_ptr + 2, tl.sum(d * d, 0))
    tl.store(out_ptr + 3, tl.sum(tl.where(c < n, 0.0, 1.0), 0))
    tl.store(out_ptr + 4, total)


def within(rng: np.random.Generator, n: int, dtype: type) -> tuple[np.ndarray, ...]:
    """All of it, and n random numbers in its midst."""
    whole = np.full(n + 2 * AROUND, np.nan, dtype)
    inner = whole[AROUND:-AROUND]
    inner[:] = rng.standard_normal(n)
    return whole, inner


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_short_rows(rng: np.random.Generator, dtype: type, n: int) -> None:
    _, x = within(rng, n, dtype)
    all_y, y = within(rng, n, dtype)
    all_z, z = within(rng, n, dtype)
    out = np.full(5, np.nan, np.float32)
    row[(1,)](x, y, z, out, n, BLOCK=BLOCK)
    for whole in (all_y, all_z):
        assert np.isnan(whole[:AROUND]).all() and np.isnan(whole[-AROUND:]).all()
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max())
    near = (
        {"rtol": 2e-3, "atol": 2e-2}
        if dtype is np.float16
        else {"rtol": 1e-5, "atol": 1e-4}
    )
    np.testing.assert_allclose(y, e / e.sum(), **near)
    np.testing.assert_allclose(z, wide - 1, **near)
    want = [wide.max(), wide.sum(), ((wide - 1) ** 2).sum(), BLOCK - n, e.sum()]
    np.testing.assert_allclose(out, want, **near)


@pytest.mark.parametrize("n", [5, 64, 200, BLOCK])
def test_what_is_no_number_of_a_short_row(n: int) -> None:
    """As if all of the block were combined: what is behind the row is among it."""
    y, z = np.empty((2, n), np.float32)
    out = np.empty(5, np.float32)

    def of(x: np.ndarray) -> np.ndarray:
        row[(1,)](x, y, z, out, n, BLOCK=BLOCK)
        return out.copy()

    zeros = of(np.full(n, -0.0, np.float32))
    assert zeros[1] == 0 and np.signbit(zeros[1]) == (n == BLOCK)
    x = np.zeros(n, np.float32)
    x[n // 2] = np.nan
    some = of(x)
    assert some[0] == 0 and np.isnan(some[1]) and np.isnan(some[4])
    x[:] = np.nan
    none = of(x)
    assert np.isnan(none[0]) if n == BLOCK else none[0] == -np.inf
    assert np.isnan(none[4])
    x[:] = -np.inf
    assert np.isnan(of(x)[4])
