"""Blocks with a dim of 2 for each bit of an index: transposed, reduced, sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def turn_kernel(x, y, LOG: tl.constexpr, ORDER: tl.constexpr):
    i = tl.arange(0, 2**LOG)
    v = tl.reshape(tl.load(x + i), [2] * LOG)
    tl.store(y + i, tl.reshape(tl.trans(v, ORDER), [2**LOG]))


@pytest.mark.parametrize("log", (9, 10, 13))
@pytest.mark.parametrize("order", ("reversed", "rotated", "shuffled"))
def test_trans(device: Any, rng: Any, log: int, order: str) -> None:
    """A number's bits in another order."""
    dims = list(range(log))
    perm = {"reversed": dims[::-1], "rotated": dims[3:] + dims[:3],
            "shuffled": rng.permutation(log).tolist()}[order]  # fmt: skip
    x = rng.integers(0, 1000, 2**log).astype(np.int32)
    y = device.poison(2**log, np.int32)
    turn_kernel[(1,)](device.put(x), y, log, tuple(perm))
    want = x.reshape([2] * log).transpose(perm).reshape(-1)
    np.testing.assert_array_equal(device.get(y), want)


@tegula.jit
def fold_kernel(x, y, LOG: tl.constexpr, AXIS: tl.constexpr):
    half: tl.constexpr = 2 ** (LOG - 1)
    i, j = tl.arange(0, 2**LOG), tl.arange(0, half)
    v = tl.reshape(tl.load(x + i), [2] * LOG)
    tl.store(y + j, tl.reshape(tl.sum(v, AXIS), [half]))
    tl.store(y + half + j, tl.reshape(tl.xor_sum(v, AXIS), [half]))
    tl.store(y + 2 * half + i, tl.reshape(tl.cumsum(v, AXIS), [2 * half]))
    all_but = tl.sum(v, LOG - 1, keep_dims=True)
    tl.store(y + 4 * half + i, tl.reshape(v - all_but, [2 * half]))


@pytest.mark.parametrize("log,axis", [(9, 0), (11, 5), (12, 11), (10, 4)])
def test_folds(device: Any, rng: Any, log: int, axis: int) -> None:
    x = rng.integers(0, 1000, 2**log).astype(np.int32)
    y = device.poison(3 * 2**log, np.int32)
    fold_kernel[(1,)](device.put(x), y, log, axis)
    v = x.reshape([2] * log)
    a, b = np.take(v, 0, axis), np.take(v, 1, axis)
    rest = v - v.sum(-1, keepdims=True)
    parts = (a + b, a ^ b, v.cumsum(axis), rest)
    np.testing.assert_array_equal(
        device.get(y), np.concatenate([p.ravel() for p in parts])
    )


@tegula.jit
def bit_of(n: tl.constexpr, d: tl.constexpr):
    """The index along dim d of n."""
    return tl.reshape(tl.arange(0, 2), [1] * d + [2] + [1] * (n - 1 - d))


@tegula.jit
def network_kernel(x, y, LOG: tl.constexpr):
    """Batcher's bitonic network: neighbours along a dim meet, in an order that another
    dim turns round."""
    i = tl.arange(0, 2**LOG)
    v = tl.reshape(tl.load(x + i), [2] * LOG)
    for k in tl.static_range(1, LOG + 1):
        for j in tl.static_range(k):
            d: tl.constexpr = LOG - k + j
            other = v ^ tl.xor_sum(v, d, keep_dims=True)
            turned = bit_of(LOG, d)
            if k < LOG:
                turned = turned ^ bit_of(LOG, LOG - k - 1)
            v = tl.where((v > other) != (turned == 1), other, v)
    tl.store(y + i, tl.reshape(v, [2**LOG]))


@pytest.mark.parametrize("log", (5, 9, 10))
def test_network(device: Any, rng: Any, log: int) -> None:
    x = rng.integers(-9999, 9999, 2**log).astype(np.int32)
    y = device.poison(2**log, np.int32)
    network_kernel[(1,)](device.put(x), y, log)
    np.testing.assert_array_equal(device.get(y), np.sort(x))


@tegula.jit
def long_shape_kernel(x, LOG: tl.constexpr):
    i = tl.arange(0, 2**LOG)
    v = tl.reshape(i, [2] * LOG)
    tl.store(x + i, tl.reshape(tl.multiple_of(v + 1, [1] * LOG), [2**LOG]))


def test_twenty_dims() -> None:
    """As many as there can be; on GPUs so many elements are too many for a program."""
    x = np.zeros(2**20, np.int32)
    long_shape_kernel[(1,)](x, 20)
    np.testing.assert_array_equal(x, np.arange(2**20) + 1)
