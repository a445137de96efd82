"""Launches of a variant that was compiled from types: numbers take them (fixed.c)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.compat.compiler import ASTSource, compile


@tegula.jit
def scale(x, out, n, s, z, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n) * s
    if z is not None:
        v += z
    tl.store(out + i, v, i < n)


def compiled(n="i64", s="fp64", **constants):
    types = {"x": "*fp32", "out": "*fp32", "n": n, "s": s}
    types |= dict.fromkeys(constants, "constexpr")
    return compile(ASTSource(scale, types, constants), target="cpu")


def run(c, *args):
    c.run(1, 1, 1, None, None, None, None, None, None, *args)


@pytest.fixture
def arrays():
    return np.arange(50, dtype=np.float32), np.zeros(50, np.float32)


@pytest.mark.parametrize(
    "n, s, given",
    [("i64", "fp64", (50, 0.5)), ("i32", "fp32", (50, 2)), ("i8", "fp16", (50, 0.25))]
    + [("u64", "bf16", (np.int64(50), np.float64(3))), ("u8", "fp32", (48, True))],
)
def test_numbers_take_the_types_of_the_compile(arrays, n, s, given):
    x, out = arrays
    compiled(n, s, z=3, B=64)[(1,)](x, out, *given, 3, 64)
    want = np.where(np.arange(50) < given[0], x * float(given[1]) + 3, 0)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(
    "n, s, z", [(50.5, 1.0, 3), (1 << 40, 1.0, 3), (50, 1.0, 4), (50, 1.0, None)]
)
def test_what_does_not_fit_is_refused(arrays, n, s, z):
    with pytest.raises(ValueError, match="another variant"):
        compiled("i32", z=3, B=64)[(1,)](*arrays, n, s, z, 64)
    assert not arrays[1].any()


def test_run_does_not_look_at_constants(arrays):
    x, out = arrays
    run(compiled(z=3, B=64), x, out, 50, 2.0, -1, -1)
    np.testing.assert_array_equal(out, x * 2 + 3)
    run(compiled(z=None, B=64), x, out, 50, 2.0, x, "-")
    np.testing.assert_array_equal(out, x * 2)


def test_more_may_be_true_than_was_asked(arrays):
    @tegula.jit
    def rows(x, out, n, W: tl.constexpr):
        i = tl.arange(0, 4)[:, None] * n + tl.arange(0, W)[None]
        tl.store(out + i, tl.load(x + i) + 1)

    types = {"x": "*fp32", "out": "*fp32", "n": "i32", "W": "constexpr"}
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    facts = {(i,): [["tt.divisibility", 16]] for i in range(2)}

    def variant(**more):  # a GPU's vectors are what asks
        known = facts | ({(2,): [["tt.divisibility", 16]]} if more else {})
        return compile(ASTSource(rows, types, {"W": 16}, known), target="emu:sm_80")

    general, aligned = variant(), variant(n=16)
    assert [a for a in aligned._answers if a[0] == 2 and a[2]], "nothing was asked"
    for n in (17, 18, 32, 1):
        out[:] = 0
        general[(1,)](x, out, n, 16)
        at = (np.arange(4)[:, None] * n + np.arange(16)).ravel()
        np.testing.assert_array_equal(out[at], x[at] + 1)
    aligned[(1,)](x, out, 32, 16)
    with pytest.raises(ValueError, match="another variant"):
        aligned[(1,)](x, out, 18, 16)


def test_constants_of_a_compile_are_no_parameters():
    c = compiled("i32", z=3, B=64)
    assert [p[0] for p in c._params] == [0, 1, 2, 3]


def test_unwrap_in_a_kernel(arrays):
    @tegula.jit
    def kernel(x, D: tl.constexpr):
        D = tl.core._unwrap_if_constexpr(D)
        tl.store(x, D.primitive_bitwidth)

    kernel[(1,)](arrays[0], tl.float16)
    assert arrays[0][0] == 16


class Tile(NamedTuple):
    rows: int
    name: str


@tegula.jit
def every(
    x, KIND: tl.constexpr, out, TILE: tl.constexpr, n, PAIR: tl.constexpr = (3, None)
):
    i = tl.program_id(0) * TILE.rows + tl.arange(0, TILE.rows)
    v = tl.load(x + i, i < n)
    if KIND == "twice":
        v *= 2
    if PAIR[1] is None:
        v += PAIR[0]
    tl.store(out + i, v, i < n)


@pytest.mark.parametrize("more", [{}, {"stream": None}])
@pytest.mark.parametrize(
    "kind, pair, f", [("twice", (5, None), (2, 5)), (None, (7, 1), (1, 0))]
)
def test_the_constants_may_be_left_out(arrays, kind, pair, f, more):
    x, out = arrays
    c = every[(1,)](x, kind, np.zeros_like(x), Tile(32, "a"), 50, pair)
    seen = []

    def grid(meta):
        seen.append((meta["KIND"], meta["TILE"], meta["PAIR"]))
        return (tegula.cdiv(meta["n"], meta["TILE"].rows),)

    c[grid](x, out, 49, **more)
    np.testing.assert_array_equal(out, np.where(np.arange(50) < 49, x * f[0] + f[1], 0))
    assert seen == [(kind, Tile(32, "a"), pair)]
    with pytest.raises(TypeError, match="misses 3 arguments"):
        c[grid](x, out, **more)
    with pytest.raises(ValueError, match="another variant"):
        c[grid](x, out, 49.5, **more)


@tegula.jit
def total(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


TYPES = {"x": "*fp32", "y": "*fp32", "z": "*fp32", "n": "i32", "B": "constexpr"}


@pytest.mark.parametrize("how", ["launched", "warmed up", "from types"])
def test_arguments_may_share_their_memory(how):
    """A chosen variant takes them as the kernel does, whatever it was compiled for."""
    x, y, z = (np.arange(40, dtype=np.float32) + i for i in range(3))
    total.device_caches.clear()
    c = {
        "launched": lambda: total[(3,)](x, y, z, 40, 16),
        "warmed up": lambda: total.warmup(x, y, z, 40, 16, grid=(1,)),
        "from types": lambda: compile(ASTSource(total, TYPES, {"B": 16}), "cpu"),
    }[how]()
    c[(3,)](x, x, z, 40, 16)
    np.testing.assert_array_equal(z, 2 * x)
    c[(3,)](x, x[4:], z, 36, 16)
    np.testing.assert_array_equal(z[:36], x[:36] + x[4:])
    for again in (
        lambda x: c[(3,)](x, y, x, 40, 16),
        lambda x: c[(3,)](x, y, x, 40),
        lambda x: c.run(3, 1, 1, None, None, None, None, None, None, x, y, x, 40, -1),
    ):
        both = x.copy()
        again(both)
        np.testing.assert_array_equal(both, x + y)
    made = len(total.variants)
    c[(3,)](z, y, z, 40, 16)
    assert len(total.variants) == made <= 3
    with pytest.raises(ValueError, match="another variant"):
        c[(3,)](x, x, z, 40.5, 16)


def test_a_variant_for_arguments_that_share_takes_others():
    x, y, z = (np.arange(40, dtype=np.float32) + i for i in range(3))
    total.device_caches.clear()
    c = total[(3,)](z, z, z, 40, 16)
    c[(3,)](x, y, z, 40, 16)
    np.testing.assert_array_equal(z, x + y)
