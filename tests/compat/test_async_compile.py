"""AsyncCompileMode: warmups that do not wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tegula
import tegula.language as tl


def kernel():
    @tegula.jit
    def fill(x, value, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 1000)
        tl.store(x + tl.arange(0, BLOCK), value)

    return fill


def test_futures():
    fill, x = kernel(), np.zeros(64, np.float32)
    gate = threading.Event()
    fill.add_pre_run_hook(lambda *_, **__: gate.wait(30))
    with ThreadPoolExecutor(2) as pool, tegula.AsyncCompileMode(pool):
        futures = [fill.warmup(x, 1.0, BLOCK=n, grid=(1,)) for n in (16, 32, 16)]
        assert not any(f.done() for f in futures)
        gate.set()
    a, b, again = (f.result() for f in futures)
    assert a is again and a is not b and len(fill.variants) == 2
    assert fill[(1,)](x, 1.0, BLOCK=16) is a and x.sum() == 16


def test_errors_come_at_the_end():
    fill, x = kernel(), np.zeros(64, np.float32)
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(tegula.errors.CompileTimeAssertionFailure):
            with tegula.AsyncCompileMode(pool):
                bad = fill.warmup(x, 1.0, BLOCK=1024, grid=(1,))
                good = fill.warmup(x, 1.0, BLOCK=16, grid=(1,))
        assert good.result().name == "fill" and bad.result(ignore_errors=True) is None
        with tegula.AsyncCompileMode(pool, ignore_errors=True):
            fill.warmup(x, 1.0, BLOCK=1024, grid=(1,))
    assert not isinstance(fill.warmup(x, 1.0, BLOCK=16, grid=(1,)), tegula.FutureKernel)


def test_one_at_a_time():
    with ThreadPoolExecutor(1) as pool, tegula.AsyncCompileMode(pool):
        with pytest.raises(RuntimeError, match="inside of another"):
            with tegula.AsyncCompileMode(pool):
                pass


def test_cleanup_of_what_failed():
    """cleanup_fn is told of a compile that failed, once; FutureKernel takes it, or not."""
    told = []

    def fail():
        raise ValueError("no")

    with ThreadPoolExecutor(1) as pool:
        with tegula.AsyncCompileMode(pool, ignore_errors=True) as mode:
            bad = mode.submit("a", fail, None, cleanup_fn=told.append)
            good = mode.submit("b", lambda: 1, told.append, told.append)
        assert bad.result(ignore_errors=True) is None and good.result() == 1
        assert told == [bad, 1]
        old = tegula.FutureKernel(told.append, pool.submit(lambda: 2))
        new = tegula.FutureKernel(None, told.append, pool.submit(fail))
        assert old.result() == 2 and told[-1] == 2
        with pytest.raises(ValueError, match="no"):
            new.result()
        assert told[-1] is new
