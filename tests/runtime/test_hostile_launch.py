"""The n-th allocation of a compile fails, for every n until the compile succeeds; and what
Python code does in the midst of a launch."""

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


@pytest.fixture
def hooks():
    with tegula.knobs.runtime.scope(), tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = ""
        yield tegula.knobs.runtime


def moving():
    @tegula.jit
    def copy(x, y, n, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, i < n), i < n)

    return copy


def resize(x):
    x.resize(1 << 20, refcheck=False)


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
@pytest.mark.parametrize("how", ["launch hook", "compile hook", "load hook"])
def test_a_hook_that_moves_a_tensor(hooks, how, target):
    hooks.interpret = target == "interpreter"
    hooks.target = target if target.startswith("emu") else None
    copy, x, y = moving(), np.ones(256, np.float32), np.zeros(256, np.float32)
    moves = []

    def hook(*_, **__):
        if not moves:
            moves.append(resize(y))

    if how == "launch hook":
        copy[(1,)](x, y, 256, B=256)
        hooks.launch_enter_hook.add(hook)
    elif how == "compile hook":
        hooks.jit_cache_hook = hook
    else:
        hooks.kernel_load_start_hook.add(hook)
    if how == "load hook" and target == "interpreter":
        return  # it loads nothing
    with pytest.raises(RuntimeError, match="memory of argument 'y' was moved"):
        copy[(1,)](x, y, 256, B=256)
    y[:] = 0
    copy[(1,)](x, y, 256, B=256)
    assert y[:256].all() and not y[256:].any()


def test_a_hook_that_moves_a_tensor_of_torch(hooks):
    torch = pytest.importorskip("torch")
    copy, x, y = moving(), torch.ones(256), torch.zeros(256)
    copy[(1,)](x, y, 256, B=256)
    hooks.launch_enter_hook.add(lambda _: y.set_(torch.zeros(4)))
    with pytest.raises(RuntimeError, match="memory of argument 'y' was moved"):
        copy[(1,)](x, y, 256, B=256)


class Moves:
    """An argument whose method, when it is read, moves the memory of another one."""

    def __init__(self, moves, x):
        self.moves, self.x = moves, x

    def __index__(self):
        self.moves()
        return 256

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        self.moves()
        return self.x.__dlpack__(**options)


@pytest.mark.parametrize("how", ["integer", "tensor", "base of a descriptor"])
def test_an_argument_that_moves_another(hooks, how):
    @tegula.jit
    def copy(y, x, n, B: tl.constexpr, IS_DESCRIPTOR: tl.constexpr):
        i = tl.arange(0, B)
        if IS_DESCRIPTOR:
            y.store([0], tl.load(x + i, i < n))
        else:
            tl.store(y + i, tl.load(x + i, i < n), i < n)

    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    if how == "integer":
        args = y, x, Moves(lambda: resize(y), x)
    elif how == "tensor":
        args = y, Moves(lambda: resize(y), x), 256
    else:
        y = tegula.tools.tensor_descriptor.TensorDescriptor.from_tensor(y, [256])
        args = y, Moves(lambda: resize(y.base), x), 256
    with pytest.raises(RuntimeError, match="memory of argument 'y' was moved"):
        copy[(1,)](*args, B=256, IS_DESCRIPTOR=how.startswith("base"))
