"""Dividends that are negative: C's quotients and remainders break runs below zero.

Whether a parameter is negative is asked of a launch (analysis/facts.c); what was loaded is
never taken for a number that is not. A kernel is launched with both signs in turn, so that
code that was made for one must not be found for the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

BLOCK, START = 512, 4096  # of the result's programs; of the array's element 0
MIDDLE = tl.constexpr(START)
GE0 = 128  # FACT_GE0 of csrc/ir/ir.h


@tegula.jit
def wrapped(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + MIDDLE + (offs + shift) % n))


@tegula.jit
def divided(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = offs + shift
    tl.store(o + offs, tl.load(x + MIDDLE + i // n * 8 + offs % 8))


@tegula.jit
def loaded(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.multiple_of(tl.load(at), 8)
    tl.store(o + offs, tl.load(x + MIDDLE + (offs + first) % n))


@tegula.jit
def from_loop(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for start in range(shift, shift + 1):
        tl.store(o + offs, tl.load(x + MIDDLE + (start + offs) % n))


@tegula.jit
def carried(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = offs
    for _ in range(3):
        tl.store(o + offs, tl.load(x + MIDDLE + i % n))
        i += shift


@tegula.jit
def by_quotient(x, o, at, n, shift, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    i = (shift * 2) // n * 8 + tl.arange(0, BLOCK) + 16 * tl.maximum(shift, n)
    tl.store(o + offs, tl.load(x + MIDDLE + i % 64))


@tegula.jit
def by_divisor(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = (tl.program_id(0) + 4) // shift * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + MIDDLE + i % n))


@tegula.jit
def unsigned(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = (offs.to(tl.uint32) + shift.to(tl.uint32)).to(tl.int32)
    tl.store(o + offs, tl.load(x + MIDDLE + i % n))


@tegula.jit
def typed(x, o, at, n, shift: tl.int32, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + MIDDLE + (offs + shift) % n))


@tegula.jit(do_not_specialize=["shift"])
def unspecialized(x, o, at, n, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + MIDDLE + (offs + shift) % n))


@tegula.jit
def in_tuple(x, o, at, n, shifts, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + MIDDLE + (offs + shifts[0]) % n))


def rem(i: np.ndarray, n: int) -> np.ndarray:
    return np.fmod(i, n)


def quotient(i: np.ndarray, n: int) -> np.ndarray:
    return (np.abs(i) // abs(n)) * np.sign(i) * np.sign(n)


def in_loops(offs: np.ndarray, n: int, shift: int) -> np.ndarray:
    return rem(offs + 2 * shift, n)


def of_quotient(offs: np.ndarray, n: int, shift: int) -> np.ndarray:
    first = quotient(np.array(2 * shift), n) * 8 + 16 * max(shift, n)
    return rem(first + offs % BLOCK, 64)


WANT: dict[str, Any] = {
    "wrapped": lambda offs, n, shift: rem(offs + shift, n),
    "divided": lambda offs, n, shift: quotient(offs + shift, n) * 8 + offs % 8,
    "loaded": lambda offs, n, shift: rem(offs + shift, n),
    "from_loop": lambda offs, n, shift: rem(offs + shift, n),
    "carried": in_loops,
    "by_quotient": of_quotient,
    "by_divisor": lambda offs, n, shift: rem(
        quotient(offs // BLOCK + 4, shift) * BLOCK + offs % BLOCK, n
    ),
    "unsigned": lambda offs, n, shift: rem(offs + shift, n),
    "typed": lambda offs, n, shift: rem(offs + shift, n),
    "unspecialized": lambda offs, n, shift: rem(offs + shift, n),
    "in_tuple": lambda offs, n, shift: rem(offs + shift, n),
}


def launched(anywhere: Any, kernel: Any, n: int, shift: int) -> tuple[Any, np.ndarray]:
    x = anywhere.put(np.arange(2 * START, dtype=np.float32))
    out = anywhere.poison(2 * BLOCK, np.float32)
    at = anywhere.put(np.array([shift], np.int32))
    number = (shift,) if kernel.__name__ == "in_tuple" else shift
    code = kernel[(2,)](x, out, at, n, number, BLOCK=BLOCK)
    return code, anywhere.get(out)


@pytest.mark.parametrize("name", WANT)
def test_negative_dividend(name: str, anywhere: Any) -> None:
    for n in (64, 48):
        for shift in (16, -16, 512, -1024, 3, -2, -48):
            _, out = launched(anywhere, globals()[name], n, shift)
            want = START + WANT[name](np.arange(2 * BLOCK), n, shift)
            np.testing.assert_array_equal(out, want)


def test_who_asks(device: Any) -> None:
    """A dividend's parameter is asked for its sign, and only where there is a run."""

    @tegula.jit
    def added(x, o, at, n, shift, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + offs, tl.load(x + MIDDLE + offs % n + shift))

    @tegula.jit
    def scattered(x, o, at, n, shift, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + offs, tl.load(x + MIDDLE + (offs * 3 + shift) % n))

    asked = {}
    for kernel in (added, scattered, wrapped, loaded):
        for shift in (16, -16):
            code, _ = launched(device, kernel, 64, shift)
            asked[kernel.__name__] = any(of & GE0 for _, of, _ in code._answers)
    assert asked == {
        "added": False,
        "scattered": False,
        "wrapped": True,
        "loaded": False,
    }
    assert len(added.variants) == len(scattered.variants) == 1


def test_a_constant_divided(anywhere: Any) -> None:
    """The quotient of a row is one number, and the dividend does not count up."""

    @tegula.jit
    def kernel(x, o):
        rows, cols = tl.arange(0, 16), tl.arange(0, 32)
        q = tl.full([16, 32], -2, tl.int32) // tl.load(x + rows)[:, None]
        tl.store(o + rows[:, None] * 32 + cols[None, :], q)

    x = np.array([1, 2, 3, -1] * 4, np.int32)
    out = anywhere.poison((16, 32), np.int32)
    kernel[(1,)](anywhere.put(x), out)
    want = np.trunc(-2 / x).astype(np.int32)[:, None].repeat(32, 1)
    np.testing.assert_array_equal(anywhere.get(out), want)
