"""One tensor as two arguments: what is loaded is loaded before what follows is stored.

On CPUs. The warps of a GPU run as they like; nobody knows there that the two are one.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def permute(x_ptr, to_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + tl.load(to_ptr + i), tl.load(x_ptr + i))


@tegula.jit
def transpose(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i[:, None] * B + i[None, :])
    tl.store(out_ptr + i[None, :] * B + i[:, None], x + 0.5)


@tegula.jit
def double(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * 2)


@tegula.jit
def largest_then_write(x_ptr, out_ptr, top_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    top = tl.max(x, 0)
    tl.store(out_ptr + (B - 1 - i), i * 100)
    tl.store(top_ptr, top)


@tegula.jit
def swap(x_ptr, y_ptr, out_x, out_y, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(out_x + i, y)
    tl.store(out_y + i, x)


def test_permuted():
    to = np.random.default_rng(0).permutation(512).astype(np.int32)
    x = np.arange(512, dtype=np.int64)
    d = x.copy()
    permute[(1,)](d, to, d, B=512)
    want = x.copy()
    want[to] = x
    np.testing.assert_array_equal(d, want)


@pytest.mark.parametrize("B", [8, 32])
def test_transposed(B):
    x = np.arange(B * B, dtype=np.float32).reshape(B, B)
    d = x.copy()
    transpose[(1,)](d, d, B=B)
    np.testing.assert_array_equal(d, x.T + 0.5)


@pytest.mark.parametrize("by", [1, 16, 17, -1, -40])
def test_views_that_overlap(by):
    x = np.arange(256, dtype=np.float32)
    d = x.copy()
    a, b = max(0, -by), max(0, by)
    double[(1,)](d[a:], d[b:], B=128)
    want = x.copy()
    want[b : b + 128] = 2 * x[a : a + 128]
    np.testing.assert_array_equal(d, want)


def test_reversed_view():
    """NumPy's, which starts at its last element."""
    x = np.arange(128, dtype=np.float32)
    double[(1,)](x, x[-5:0:-1][-20:], B=16)
    want = np.arange(128, dtype=np.float32)
    want[20:36] = 2 * np.arange(16)
    np.testing.assert_array_equal(x, want)


def test_reduced_before_it_is_written():
    x, top = np.arange(256, dtype=np.int32), np.zeros(1, np.int32)
    d, out = x.copy(), top.copy()
    largest_then_write[(1,)](d, d, out, B=256)
    assert out[0] == 255
    np.testing.assert_array_equal(d, 100 * x[::-1])


def test_swapped():
    x, y = np.arange(64, dtype=np.float32), -np.arange(64, dtype=np.float32)
    a, b = x.copy(), y.copy()
    swap[(1,)](a, b, a, b, B=64)
    np.testing.assert_array_equal(a, y)
    np.testing.assert_array_equal(b, x)


def test_what_it_costs():
    """One variant while tensors lie apart; the same one in place at the same index."""
    k = tegula.jit(double.fn)
    x = np.zeros(512, np.float32)
    for _ in range(3):
        k[(1,)](np.zeros(128, np.float32), np.zeros(128, np.float32), B=128)
    k[(1,)](x, x, B=128)
    k[(1,)](x, x[128:256], B=128)  # side by side: x goes on to there
    assert len(k.variants) == 2
    k[(1,)](x[:128], x[128:], B=128)
    k[(1,)](x[:128:2], x[128:], B=128)
    assert len(k.variants) == 2


# --- random ones, beside the interpreter --------------------------------------------------
@tegula.jit
def mixed(
    a, b, c, d, idx, n, by,
    B: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr, MORE: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, B)
    if LOAD == 0:
        x = tl.load(a + i, mask=i < n, other=1)
    elif LOAD == 1:
        x = tl.load(a + (B - 1 - i))
    elif LOAD == 2:
        x = tl.load(a + tl.load(idx + i))
    else:
        x = tl.load(a + by + i * 2, mask=i < n, other=3)
    y = tl.load(b + i)
    if MORE == 1:
        y += tl.sum(x, 0)
    if MORE == 2:
        y = tl.cumsum(y, 0)
    if STORE == 0:
        tl.store(c + i, x + y, mask=i < n)
    elif STORE == 1:
        tl.store(c + tl.load(idx + i), x - y)
    else:
        tl.store(c + (B - 1 - i), x * 2 + y, mask=i < n)
    tl.debug_barrier()  # from here on what was stored is seen
    if MORE == 3:
        tl.store(d + by + i, y)
        tl.debug_barrier()
    z = tl.load(d + i)
    if MORE == 4:
        tl.store(d + (B - 1 - i), z + x)


def case(seed: int) -> tuple[Any, dict[str, int]]:
    """Four views of one array, or of two; what the kernel does with them."""
    rng = random.Random(seed)
    B = rng.choice([8, 32, 128])
    dtype = rng.choice([np.int32, np.int64, np.int16])
    first = np.random.default_rng(seed).integers(-9, 9, 8 * B).astype(dtype)
    second = first[::-1].copy()
    idx = np.random.default_rng(seed).permutation(B).astype(np.int32)

    def views(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        r = random.Random(seed + 1)
        at = [r.choice([0, 0, 0, 1, 5, 16, B // 2, B]) for _ in range(4)]
        return [(y if r.random() < 0.25 else x)[k:] for k in at]

    def run() -> list[np.ndarray]:
        x, y = first.copy(), second.copy()
        mixed[(1,)](*views(x, y), idx, n, by, **how)
        return [x, y]

    n, by = rng.choice([B, B - 3, 1]), rng.choice([0, 1, 7])
    how = {
        "B": B,
        "LOAD": rng.randrange(4),
        "STORE": rng.randrange(3),
        "MORE": rng.randrange(5),
    }
    return run, how


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seeds", range(8))
def test_random_views(seeds: int) -> None:
    with tegula.knobs.runtime.scope():
        for seed in range(40 * seeds, 40 * (seeds + 1)):
            run, how = case(seed)
            tegula.knobs.runtime.interpret = True
            want = run()
            tegula.knobs.runtime.interpret = False
            for got, right in zip(run(), want, strict=True):
                np.testing.assert_array_equal(got, right, err_msg=f"{seed} {how}")
