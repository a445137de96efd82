"""break, continue and return inside loops: each kernel also runs as Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def search(x, n, key):
    """The first place of key; -1: there is none; -2: a negative number came before."""
    for i in range(n):
        v = tl.load(x + i)
        if v < 0:
            return -2
        if v == key:
            return i
    return -1


@tegula.jit
def search_kernel(x, out, n, key):
    tl.store(out, search(x, n, key))


def search_python(x: Any, n: int, key: int) -> int:
    for i in range(n):
        if x[i] < 0:
            return -2
        if x[i] == key:
            return i
    return -1


@pytest.mark.parametrize("n", [0, 3, 8])
@pytest.mark.parametrize("key", [5, 7, 9, 11])
def test_return(run: Any, n: int, key: int) -> None:
    x = np.array([3, 5, 4, 7, 7, -1, 9, 11], np.int32)
    out = np.zeros(1, np.int32)
    run(search_kernel, x, out, n, key)
    assert out[0] == search_python(x, n, key)


@tegula.jit
def nested(out, n, m):
    total = 0
    rows = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        row = 0
        j = i
        while True:
            j += 1
            if j % 2 == 0:
                continue
            if row > m:
                total += 100
                break
            row += j
            if j > 20:
                break
            total += 1
        rows = rows + row
        if rows > 90:
            if total > 150:
                break
            total += 7
        for k in tl.static_range(4):
            if k == 1:
                continue
            if (total + k) % 5 == 0:
                break
            total += k
    tl.store(out, total)
    tl.store(out + 1, rows)


def nested_python(n: int, m: int) -> list[int]:
    total = rows = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        row, j = 0, i
        while True:
            j += 1
            if j % 2 == 0:
                continue
            if row > m:
                total += 100
                break
            row += j
            if j > 20:
                break
            total += 1
        rows += row
        if rows > 90:
            if total > 150:
                break
            total += 7
        for k in range(4):
            if k == 1:
                continue
            if (total + k) % 5 == 0:
                break
            total += k
    return [total, rows]


@pytest.mark.parametrize("n,m", [(0, 0), (1, 3), (4, 9), (9, 30), (20, 12)])
def test_nested(run: Any, n: int, m: int) -> None:
    out = np.zeros(2, np.int32)
    run(nested, out, n, m)
    assert out.tolist() == nested_python(n, m)


@tegula.jit
def deep(x, n):
    for i in range(n):
        k = i
        while k < 10:
            for j in range(k, -1, -1):
                if tl.load(x + j) == k:
                    return i * 1000 + k * 10 + j, 1.5
            k += 2
    return -1, 0.5


@tegula.jit
def deep_kernel(x, out, n):
    a, b = deep(x, n)
    tl.store(out, a + (b * 2).to(tl.int32))


def deep_python(x: Any, n: int) -> int:
    for i in range(n):
        k = i
        while k < 10:
            for j in range(k, -1, -1):
                if x[j] == k:
                    return i * 1000 + k * 10 + j + 3
            k += 2
    return 0


@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_return_from_the_middle(run: Any, n: int) -> None:
    x = np.array([9, 11, 12, 5, 20, 30, 40, 50, 60, 70], np.int32)
    out = np.zeros(1, np.int32)
    run(deep_kernel, x, out, n)
    assert out[0] == deep_python(x, n)


@tegula.jit
def until_zero(x, out):
    """The condition loads: after the break it must not."""
    p = x
    seen = 0
    while tl.load(p) != 0:
        seen += 1
        p += 1
        if seen == 3:
            p += 1000000000
            break
    tl.store(out, seen)


@pytest.mark.parametrize("zero_at", [0, 2, 4])
def test_no_condition_after_a_break(run: Any, zero_at: int) -> None:
    x = np.ones(5, np.int32)
    x[zero_at] = 0
    out = np.zeros(1, np.int32)
    run(until_zero, x, out)
    assert out[0] == min(zero_at, 3)


@tegula.jit
def blocks(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(0, n, BLOCK):
        v = tl.load(x + k + i, mask=k + i < n, other=0.0)
        if tl.max(v) > 100.0:
            break
        if tl.min(v) < -100.0:
            continue
        acc += v
    tl.store(out + i, acc)


@pytest.mark.parametrize("stop,skip", [(-1, -1), (70, 20), (3, 40), (200, 100)])
def test_blocks(run: Any, stop: int, skip: int) -> None:
    x = np.arange(200, dtype=np.float32) / 4
    if stop >= 0:
        x[min(stop, 199)] = 1000
        x[skip] = -1000
    want = np.zeros(32, np.float32)
    for k in range(0, 200, 32):
        v = np.zeros(32, np.float32)
        v[: len(x[k : k + 32])] = x[k : k + 32]
        if v.max() > 100:
            break
        if v.min() < -100:
            continue
        want += v
    out = np.zeros(32, np.float32)
    run(blocks, x, out, 200, BLOCK=32)
    assert np.array_equal(out, want)
