"""Classes of values, in branches and loops, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.language import core


@core._aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor
    scale: tl.constexpr

    @tegula.constexpr_function
    def __init__(self, first, second, scale=2):
        self.first = first
        self.second = second
        self.scale = scale

    @tegula.jit
    def swapped(self):
        return Pair(self.second, self.first, self.scale)

    def total(self, _semantic=None):
        return self.first * self.scale + self.second


@tegula.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor
    name: tl.constexpr = "p"


@tegula.aggregate
class Line(Point):
    to: Point


@tegula.jit
def step(p, k):
    return Pair(p.first + k, p.second, p.scale)


@tegula.jit
def kernel(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    p = Pair(tl.load(x + i), i.to(tl.float32), scale=3)
    for k in range(n):
        p = step(p, k)
        if k == 2:
            p = p.swapped()
    tl.static_assert(isinstance(p, Pair))
    q = Line(1.5, y=2, to=Point(4.0, 8))
    tl.static_assert(q.name == "p" and q.to.name == "p")
    extra = q.x + q.y + q.to.x + q.to.y
    tl.store(out + i, p.total() + extra)


@pytest.mark.parametrize("n", [0, 2, 5])
def test_aggregates(run: Any, n: int) -> None:
    x = np.linspace(-2, 2, 32, dtype=np.float32)
    first, second = x.copy(), np.arange(32, dtype=np.float32)
    for k in range(n):
        first = first + k
        if k == 2:
            first, second = second, first
    out = np.zeros_like(x)
    run(kernel, x, out, n, N=32)
    np.testing.assert_allclose(out, first * 3 + second + 15.5, rtol=1e-6)


@core._aggregate
class Grid:
    side: tl.constexpr
    cells: tl.constexpr
    at: tl.tensor

    def __init__(self, side, at):
        self.side = tl.constexpr(side)
        self.cells = tl.constexpr(self.area())
        self.at = at

    @tegula.constexpr_function
    def area(self):
        return self.side * self.side

    @staticmethod
    def corner(side):
        return Grid(side, tl.program_id(0))

    @staticmethod
    @tegula.jit
    def shifted(side, by):
        return Grid(side, tl.program_id(0) + by)


def test_static_methods_and_constant_methods():
    @tegula.jit
    def kernel(x):
        g = Grid.corner(4)
        h = g.shifted(2, 100)
        i = tl.arange(0, g.cells)
        tl.static_assert(g.area() == 16 and Grid.shifted(8, 0).cells == 64)
        tl.store(x + i, i + h.at + h.area())

    x = np.zeros(16, np.int32)
    kernel[(1,)](x)
    assert (x == np.arange(16) + 104).all()


def test_a_static_method_is_part_of_the_key():
    def make(k):
        @core._aggregate
        class One:
            v: tl.tensor

            def __init__(self, v):
                self.v = v

            if k == 1:

                @staticmethod
                def make(x):
                    return One(x + 1)
            else:

                @staticmethod
                def make(x):
                    return One(x + 2)

        @tegula.jit
        def kernel(x):
            tl.store(x, One.make(tl.load(x)).v)

        return kernel

    assert make(1).cache_key != make(2).cache_key


@tegula.aggregate
class Span:
    low: tl.tensor
    high: tl.tensor

    @tegula.jit
    def __add__(self, other):
        return Span(self.low + other, self.high + other)

    @tegula.jit
    def __rsub__(self, other):
        return Span(other - self.high, other - self.low)

    @tegula.jit
    def __neg__(self):
        return Span(-self.high, -self.low)

    @tegula.jit
    def __lt__(self, other):
        return self.high < other.low

    @tegula.jit
    def __getitem__(self, at):
        return self.low + at * (self.high - self.low)


@tegula.jit
def operators(x, out, n):
    s = Span(tl.load(x), tl.load(x + 1))
    for k in range(n):
        s += k
    if n > 2:
        s = 100 - -s
    tl.store(out, s.low)
    tl.store(out + 1, s.high)
    tl.store(out + 2, s[2])
    tl.store(out + 3, s < s + 50.0)
    tl.store(out + 4, s < s + 1.0)


def test_operators(run: Any) -> None:
    x, out = np.array([3, 7], np.float32), np.zeros(5, np.float32)
    run(operators, x, out, 4)
    assert out.tolist() == [109, 113, 117, 1, 0]
