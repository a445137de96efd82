"""The index of a loop is a variable: after the loop it has its last value, as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


def after(out, n, m):
    i = m - 1
    for i in range(2, n, 3):  # noqa: B007
        pass
    tl.store(out, i)
    i = -5
    for i in range(10, n, -1):
        if i == 7:
            break
    tl.store(out + 1, i)
    i = m
    for i in range(n):
        if i % 2 == 1:
            continue
        i += 100
    tl.store(out + 2, i)
    i = 77
    for i in tl.static_range(3):  # noqa: B007
        pass
    tl.store(out + 3, i)
    i = 1
    for i in range(n):
        i = i * 1.5  # is a float there: the integer stays what it was
    tl.store(out + 4, i)


def in_python(n: int, m: int) -> list[int]:
    got = []
    i = m - 1
    for i in range(2, n, 3):  # noqa: B007
        pass
    got.append(i)
    i = -5
    for i in range(10, n, -1):
        if i == 7:
            break
    got.append(i)
    i = m
    for i in range(n):
        if i % 2 == 1:
            continue
        i += 100
    return [*got, i, 2, 1]


@pytest.mark.parametrize("n", [0, 1, 5, 9, 12])
def test_after_the_loop(device: Any, n: int) -> None:
    out = device.poison((5,), np.int32)
    triton.jit(after)[(1,)](out, n, 4)
    assert device.get(out).tolist() == in_python(n, 4)


def test_interpreted() -> None:
    out = np.zeros(5, np.int32)
    triton.jit(after, interpret=True)[(1,)](out, 9, 4)
    assert out.tolist() == in_python(9, 4)


def test_what_nobody_reads_costs_nothing() -> None:
    def kernel(x, out, n, FIRST: tl.constexpr):
        if FIRST:
            i = n * 7
        acc = tl.zeros((128,), tl.float32)
        for i in range(n):
            acc += tl.load(x + i * 128 + tl.arange(0, 128))
        tl.store(out + tl.arange(0, 128), acc)

    def code(first: bool) -> str:
        c = triton.jit(kernel).compile(
            "*fp32:16", "*fp32:16", "i32", FIRST=first, target="cuda:sm_90a"
        )
        return c.asm["ptx"]

    assert code(True) == code(False)


@triton.jit
def turns(x, y, n):
    i = tl.arange(0, 4)
    at = i[:, None] * 4 + i[None, :]
    block = tl.load(x + at)
    for _ in range(n):
        block = tl.trans(block)
    tl.store(y + at, block)


@pytest.mark.parametrize("target", ["cpu", "emu:sm_90a", "emu:sm_80"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_block_that_each_iteration_turns(
    n: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEGULA_TARGET", target)
    x, y = np.arange(16.0).reshape(4, 4), np.full((4, 4), np.nan)
    turns[(1,)](x, y, n, num_warps=4)
    np.testing.assert_array_equal(y, x.T if n % 2 else x)
