"""What programs do to kernels between launches: caches cleared, compiles that wait."""

from __future__ import annotations

import importlib
import importlib.util
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.compat import driver


def fresh_kernel():
    @tegula.jit
    def fill(x, value, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), value)

    return fill


def test_cleared_caches():
    fill, x = fresh_kernel(), np.zeros(4, np.float32)
    assert not fill.device_caches["cpu"][0] and not fill.device_caches[0][0]
    first = fill[(1,)](x, 1.0, BLOCK=4)
    assert list(fill.device_caches["cpu"][0].values()) == [first]
    if driver.active.torch_device == "cpu":  # no GPU, nor one of ptxsim's
        assert fill.device_caches[0][0] == fill.device_caches["cpu"][0]
    assert fill[(1,)](x, 2.0, BLOCK=4) is first
    fill.device_caches["cpu"][0].clear()
    assert not fill.variants
    second = fill[(1,)](x, 3.0, BLOCK=4)
    assert second is not first and x[0] == 3.0
    first[(1,)](x, 4.0, BLOCK=4)  # who holds it may run it
    assert x[0] == 4.0
    fill.device_caches.clear()
    assert not fill.device_caches["cpu"][0]


def test_a_hash_can_only_be_forgotten():
    fill = fresh_kernel()
    before = fill.hash
    fill.hash = None
    assert fill.hash == before
    with pytest.raises(AttributeError, match="None forgets it"):
        fill.hash = "00"


class Later(Executor):
    """Runs nothing until told to."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []

    def submit(self, fn, *args, **kwargs):
        future: Future[Any] = Future()
        self.waiting.append((future, fn))
        return future

    def run(self) -> None:
        while self.waiting:
            future, fn = self.waiting.pop()
            if future.set_running_or_notify_cancel():
                future.set_result(fn())


def test_a_variant_is_asked_for_once():
    fill, x, later = fresh_kernel(), np.zeros(4, np.float32), Later()
    with tegula.AsyncCompileMode(later):
        a = fill.warmup(x, 1.0, BLOCK=4, grid=(1,))
        assert fill.warmup(x, 2.0, BLOCK=4, grid=(1,)) is a
        b = fill.warmup(x, 1.0, BLOCK=2, grid=(1,))
        assert b is not a
        assert fill.warmup(x, 1.0, BLOCK=4, num_warps=8, grid=(1,)) not in (a, b)
        assert len(later.waiting) == 3 and not fill.variants
        later.run()
    assert len(fill.variants) == 3


def test_a_block_that_fails_waits_for_nothing():
    fill, later = fresh_kernel(), Later()
    with pytest.raises(KeyError), tegula.AsyncCompileMode(later):
        future = fill.warmup(np.zeros(4, np.float32), 1.0, BLOCK=4, grid=(1,))
        raise KeyError
    later.run()
    assert future.done() and not fill.variants


@pytest.mark.parametrize("how", ["cpu", "emu:sm_80", "interpret"])
def test_a_failed_assertion_is_a_runtime_error(how):
    @tegula.jit(debug=True, interpret=how == "interpret")
    def check(x):
        tl.device_assert(tl.load(x) > 0, "must be positive")

    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = None if how == "interpret" else how
        with pytest.raises(RuntimeError, match="must be positive") as e:
            check[(1,)](np.zeros(1, np.float32))
    assert isinstance(e.value, tegula.TegulaError)
    assert how == "interpret" or type(e.value).__name__ == "DeviceAssertError"


def test_many_warps_where_a_warp_is_a_thread():
    fill, x = fresh_kernel(), np.zeros(128, np.float32)
    fill[(1,)](x, 1.0, BLOCK=128, num_warps=128)
    assert x.all()
    with pytest.raises(tegula.OutOfResources, match="threads"):
        fill.compile("*fp32", "fp32", BLOCK=128, num_warps=64, target="emu:sm_80")


def test_functions_of_constants_have_a_source():
    @tegula.constexpr_function
    def twice(n):
        return 2 * n

    assert twice.src.startswith("def twice(n):") and len(twice.cache_key) == 64


def test_modules_as_attributes():
    assert tegula.compiler.compiler is tegula.compiler
    assert tegula.backends.driver is driver
    assert tegula.backends.compiler is tegula.backends
    assert tegula.runtime._allocation.NullAllocator


@pytest.mark.parametrize("name", ["backends", "compiler", "driver"])
def test_modules_under_tritons_names(name):
    """They lie in compat/, once, and are imported by either name."""
    module = importlib.import_module(f"tegula.{name}")
    assert module is getattr(tegula, name)
    assert module is importlib.import_module(f"tegula.compat.{name}")
    assert importlib.util.find_spec(f"tegula.{name}")


def test_constant_tuples_have_a_type():
    @tegula.jit
    def kernel(x):
        t: tl.constexpr = (5, 6, 7)
        tl.static_assert(t.type == tl.core.constexpr_type((5, 6, 7)))
        tl.store(x, t[1])

    x = np.zeros(1, np.int32)
    kernel[(1,)](x)
    assert x[0] == 6
