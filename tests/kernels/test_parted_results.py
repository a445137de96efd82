"""Reductions whose results lanes part between them: csrc/passes/simt/reduced_layouts.c."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def sums(x, y, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    tl.store(y + r, tl.sum(tl.load(x + r[:, None] * N + c[None, :]), axis=1))


@tegula.jit
def column_sums(x, y, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    tl.store(y + c, tl.sum(tl.load(x + r[:, None] * N + c[None, :]), axis=0))


@tegula.jit
def less_most(x, y, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(y + r[:, None] * N + c[None, :], v - tl.max(v, axis=1)[:, None])


@tegula.jit
def places(x, y, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    tl.store(
        y + r,
        tl.argmax(tl.load(x + r[:, None] * N + c[None, :]), axis=1).to(
            y.dtype.element_ty
        ),
    )


@tegula.jit
def then(a, b, c, d):
    return a * c, b * c + d


@tegula.jit
def chained(x, y, M: tl.constexpr, N: tl.constexpr):
    """x -> x * a + b, one after the other along a row: in that order alone."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    b = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(y + r, tl.reduce((b * 0 + 3, b), 1, then)[1])


def whole(rng: Any, dtype: str, shape: tuple[int, int]) -> np.ndarray:
    return rng.integers(-8, 9, shape).astype(dtype)


@pytest.mark.parametrize("warps", (1, 2, 4))
@pytest.mark.parametrize("shape", ((32, 64), (64, 16), (8, 256), (2, 128), (64, 64)))
@pytest.mark.parametrize("dtype", ("float32", "float16", "int64"))
def test_of_numbers(device: Any, rng: Any, shape: Any, dtype: str, warps: int) -> None:
    x, (m, n) = whole(rng, dtype, shape), shape
    for kernel, want in (
        (sums, x.sum(1)),
        (column_sums, x.sum(0)),
        (less_most, x - x.max(1)[:, None]),
        (places, x.argmax(1).astype(dtype)),
    ):
        y = device.poison(want.size, dtype)
        kernel[(1,)](device.put(x), y, m, n, num_warps=warps)
        np.testing.assert_array_equal(device.get(y).reshape(want.shape), want)


@pytest.mark.parametrize("warps", (1, 2))
@pytest.mark.parametrize("shape", ((32, 32), (64, 16), (4, 32)))
def test_order(device: Any, rng: Any, shape: Any, warps: int) -> None:
    """Of two lanes the lower one's is the left operand, also where results are parted."""
    if device.target == "cpu":
        pytest.skip("lanes of a CPU's vector hold elements that are not neighbours")
    x, (m, n) = whole(rng, "int64", shape), shape
    want = np.zeros(m, np.int64)
    for column in x.T:
        want = want * 3 + column
    y = device.poison(m, np.int64)
    chained[(1,)](device.put(x), y, m, n, num_warps=warps)
    np.testing.assert_array_equal(device.get(y), want)


def test_shuffles() -> None:
    """32 sums of 32 lanes, each stored by one: 16 + 8 + 4 + 2 + 1; 32 bring all to all."""
    options = {"M": 32, "N": 128, "num_warps": 1, "target": "cuda:sm_90a"}
    one = sums.compile("*fp32:16", "*fp32:16", **options)
    assert one.asm["ptx"].count("shfl.sync") == 31
    all_of_them = less_most.compile("*fp32:16", "*fp32:16", **options)
    assert all_of_them.asm["ptx"].count("shfl.sync") == 63
