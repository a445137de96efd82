"""AsyncCompileMode: warmups that do not wait."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.compat.warmup_pool import (
    ProcessPoolWarmupDispatcher,
    SharedWarmupCoordinator,
)


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


def test_pool_that_compiles_ahead(tmp_path):
    fill, x = kernel(), np.zeros(64, np.float32)
    configs = [tegula.Config({"BLOCK": n}) for n in (8, 32)]
    tuner = tegula.autotune(configs, key=["value"])(kernel())
    pool = ProcessPoolWarmupDispatcher(
        max_workers=2, trace_directory=str(tmp_path / "trace"), phase="warmup-unit"
    )
    pool.current_test = "all"
    made = [
        pool.dispatch(x, 1.0, kernel=fill, grid=(1,), test=f"of {n}", BLOCK=n)
        for n in (16, 64, 16)
    ]
    made += pool.dispatch(x, 1.0, kernel=tuner, grid=(1,))
    pool.record_test("all")
    assert pool.current_test == "all"
    pool.finish()
    assert made[0] is made[2] and all(f.done() for f in made) and x.sum() == 0
    assert fill[(1,)](x, 1.0, BLOCK=16) is made[0].result() and x.sum() == 16
    (rows,) = (tmp_path / "trace").glob("warmup-unit-*.jsonl")
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert sorted(r["test"] for r in found) == ["all", "all", "of 16", "of 64"]
    assert {r["hash"] for r in found} == {f.result().hash for f in made}
    assert {r["kernel"] for r in found} == {"fill"}
    (tests,) = (tmp_path / "trace").glob("warmup-unit-*.tests")
    assert json.loads(tests.read_text()) == {"phase": "warmup-unit", "test": "all"}


def test_pool_says_what_failed():
    fill, x = kernel(), np.zeros(64, np.float32)
    pool = ProcessPoolWarmupDispatcher(max_workers=1)
    pool.dispatch(x, 1.0, kernel=fill, grid=(1,), BLOCK=1024)
    good = pool.dispatch(x, 1.0, kernel=fill, grid=(1,), BLOCK=16)
    with pytest.raises(tegula.errors.CompileTimeAssertionFailure):
        pool.finish()
    assert good.result().name == "fill"


def test_pools_that_share(monkeypatch):
    """With one coordinator of one worker, two pools compile one after the other."""
    coordinator = SharedWarmupCoordinator(max_workers=1)
    monkeypatch.setenv("TRITON_WARMUP_COORDINATOR", coordinator.address)
    now, most = [], []

    def compiling(*_, **__):
        now.append(0)
        most.append(len(now))
        time.sleep(0.02)
        now.pop()

    pools = [ProcessPoolWarmupDispatcher(max_workers=2) for _ in range(2)]
    x = np.zeros(64, np.float32)
    for pool in pools:
        fill = kernel()
        fill.add_pre_run_hook(compiling)
        for n in (8, 16, 32):
            pool.dispatch(x, 1.0, kernel=fill, grid=(1,), BLOCK=n)
    for pool in pools:
        pool.finish()
    coordinator.close()
    assert most == [1] * 6
