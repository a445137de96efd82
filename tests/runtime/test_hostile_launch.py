"""The n-th allocation of a compile fails, for every n until the compile succeeds."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import _core


@tegula.jit
def helper(x, scale: tl.constexpr):
    return x * scale


def make():
    @tegula.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for _ in range(n):
            total += helper(tl.load(x + i, mask=i < n, other=0.0), 2)
        tl.store(out + i, total, mask=i < n)

    return kernel


@pytest.fixture
def failing():
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = ""
        # The collector shall come, often, and in the middle of a compile. But not for what
        # other tests left: a dictionary of theirs that holds tl, freed between two counts,
        # is not ours to explain.
        thresholds = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20, 3, 3)
        yield _core._fail_after
        _core._fail_after(0)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "cuda:sm_90a"])
def test_every_allocation_may_fail(failing, target):
    """MemoryError each time, and the next compile in the same process is none the worse."""
    kernel = make()
    signature = ("*fp32:16", "*fp32:16", "i32")
    make().compile(*signature, BLOCK=64, target=target)  # imports and parses, once
    gc.collect()  # that kernel has helper inside
    watched = (helper, kernel, tl)
    failures, n, step = 0, 1, 1
    while True:
        failing(n)
        before = [sys.getrefcount(o) for o in watched]
        try:
            kernel.compile(*signature, BLOCK=64, target=target)
        except MemoryError:
            failures += 1
            assert [sys.getrefcount(o) for o in watched] == before
            assert not kernel.variants
        else:
            break
        n += step
        step = 1 + n // 40  # all of the first ones, then ever fewer
    assert failures > 20
    failing(0)
    gc.collect()
    again = make()
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    again[(1,)](x, out, 64, BLOCK=64)
    assert (out == 128).all()


def test_a_kernel_that_ran_out_of_memory_compiles_later(failing):
    kernel = make()
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    failing(100)
    with pytest.raises(MemoryError):
        kernel[(1,)](x, out, 64, BLOCK=64)
    failing(0)
    kernel[(1,)](x, out, 64, BLOCK=64)
    assert (out == 128).all()


@tegula.jit
def takes_constant(x, n: tl.constexpr):
    tl.store(x, 1)


def test_constexpr_that_is_its_own_value():
    """It was asked for its value without an end, and Ctrl-C was not answered."""
    c = tl.constexpr(1)
    c.value = c
    with pytest.raises(RecursionError):
        takes_constant[(1,)](np.zeros(1, np.int32), c)
    c.value = (c,)
    with pytest.raises(RecursionError):
        takes_constant[(1,)](np.zeros(1, np.int32), c)


def test_constexpr_that_makes_its_value():
    """Nobody would hold it for the time of the launch."""

    class Made(tl.constexpr):
        value = property(lambda self: [10**30], lambda self, v: None)

    with pytest.raises(TypeError, match="makes its value each time"):
        takes_constant[(1,)](np.zeros(1, np.int32), Made(3))


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, MemoryError])
def test_what_a_property_raises_ends_the_launch(raised):
    """It was taken for "there is no such attribute"."""

    class Odd:
        @property
        def __array_interface__(self):
            raise raised

    with pytest.raises(raised):
        takes_constant[(1,)](Odd(), 1)


def test_a_grid_that_empties_itself():
    """A side was taken from where the list had ended by then."""

    class Side:
        def __index__(self):
            grid.clear()
            return 1

    grid = [Side(), 1, 1]
    with pytest.raises(IndexError):
        takes_constant[grid](np.zeros(1, np.int32), 1)
