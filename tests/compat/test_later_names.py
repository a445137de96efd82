"""Names of Triton 3.7: aggregate_replace, expect_zero, listeners and hooks."""

from __future__ import annotations

import gc
import inspect
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs, testing


@tegula.aggregate
class Range:
    start: tl.tensor
    end: tl.tensor
    step: tl.constexpr = 1

    def count(self):
        return (self.end - self.start) // self.step


@tegula.aggregate
class Twice:
    a: tl.tensor
    b: tl.tensor

    def __init__(self, a, b):
        self.a = a
        self.b = b * 2


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
def test_aggregate_replace(target: str) -> None:
    @tegula.jit
    def kernel(out, n):
        r = Range(2, n)
        s = tl.aggregate_replace(r, start=1, step=3)
        t = tl.core.aggregate_replace(s)
        tl.store(out, s.count())
        tl.store(out + 1, r.start + r.end)
        tl.store(out + 2, t.start + t.step)
        u = tl.aggregate_replace(Twice(n, n), a=5)  # __init__ runs again
        tl.store(out + 3, u.a)
        tl.store(out + 4, u.b)

    out = np.zeros(5, np.int32)
    with knobs.runtime.scope() as group:
        group.target = target
        kernel[(1,)](out, 22)
    assert out.tolist() == [7, 24, 4, 5, 88]


def test_aggregate_replace_outside() -> None:
    class Plain:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        a: Any
        b: Any

    pair = tegula.aggregate(Plain)(1, 2)
    other = tl.aggregate_replace(pair, b=3)
    assert (other.a, other.b, pair.b) == (1, 3, 2)
    with pytest.raises(TypeError, match="has no field 'c'"):
        tl.aggregate_replace(pair, c=3)
    with pytest.raises(TypeError, match="takes an aggregate, not 3"):
        tl.aggregate_replace(3, c=3)


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
def test_expect_zero(target: str) -> None:
    @tegula.jit
    def kernel(x, m, B: tl.constexpr):
        i = tl.arange(0, B)
        v = tl.load(x + i)
        tl.store(x + i, tl.expect_zero(v, i < m) + 1)

    with knobs.runtime.scope() as group:
        group.target = target
        x = np.arange(16, dtype=np.float32)
        kernel[(1,)](x, 4, B=16)
        assert x.tolist() == list(range(1, 17))
        x = np.arange(16, dtype=np.float32)
        kernel[(1,)](x, 1, B=16, debug=True)
        assert x.tolist() == list(range(1, 17))
        with pytest.raises(tegula.errors.DeviceAssertError, match="expect_zero"):
            kernel[(1,)](x, 1, B=16, debug=True)


def test_expect_zero_of_constants() -> None:
    @tegula.jit
    def kernel(x):
        tl.store(x, tl.expect_zero(7, False))
        tl.store(x + 1, tl.expect_zero(tl.load(x), tl.load(x) < 0))

    x = np.zeros(2, np.int32)
    kernel[(1,)](x, debug=True)
    assert x.tolist() == [7, 7]


def test_listener_of_tuners(tmp_path: Any) -> None:
    told: list[dict[str, Any]] = []

    def make() -> Any:
        @tegula.autotune(
            [tegula.Config({"B": 8}), tegula.Config({"B": 16})],
            key=["n"],
            do_bench=lambda call, quantiles: call() or [1.0, 1.0, 1.0],
            cache_results=True,
        )
        @tegula.jit
        def fill(x, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(x + i, n, mask=i < n)

        return fill

    x = np.zeros(16, np.int32)
    with knobs.autotuning.scope() as group, knobs.cache.scope() as cache:
        cache.dir = str(tmp_path)
        group.listener = lambda **kw: told.append(kw)
        for fill in (make(), make()):
            for _ in range(2):
                fill[lambda m: (tegula.cdiv(16, m["B"]),)](x, 16)
        assert knobs.autotuning.copy().listener is group.listener
    assert knobs.autotuning.listener is None
    assert [t["cache_hit"] for t in told] == [False, True]
    first, second = told
    assert set(first) == {
        "fn",
        "key",
        "best_config",
        "configs_timings",
        "duration",
        "cache_hit",
    }
    assert (
        isinstance(first["fn"], tegula.JITFunction) and first["fn"].__name__ == "fill"
    )
    assert first["key"] == (16, "int32") and first["duration"] > 0
    assert first["best_config"] in first["configs_timings"]
    assert second["duration"] is None


def test_unload_hook() -> None:
    log: list[Any] = []

    def note(module: Any, function: Any, name: str, group: dict, digest: str) -> None:
        log.append((module, function, name, sorted(group), len(digest)))

    def make() -> None:
        @tegula.jit
        def one(x):
            tl.store(x, 1)

        one[(1,)](np.zeros(1, np.int32))

    hook = knobs.runtime.kernel_unload_hook
    assert isinstance(hook, knobs.HookChain)
    gc.collect()
    hook.add(note)
    try:
        make()
        gc.collect()
    finally:
        hook.remove(note)
    named = [row for row in log if row[2] == "one"]
    stages = ("asm", "llir", "obj", "report", "tir")
    assert named == [(None, None, "one", [f"one.{s}" for s in stages], 64)]
    make()
    gc.collect()
    assert [row for row in log if row[2] == "one"] == named


def test_errors_of_the_unload_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: seen.append(u.exc_value))

    def bad(module: Any, function: Any, name: str, *_: Any) -> None:
        if name == "two":  # kernels of other tests may go at the same time
            raise ValueError("not now")

    @tegula.jit
    def two(x):
        tl.store(x, 2)

    two[(1,)](np.zeros(1, np.int32))
    knobs.runtime.kernel_unload_hook.add(bad)
    try:
        del two
        gc.collect()
    finally:
        knobs.runtime.kernel_unload_hook.remove(bad)
    assert [str(e) for e in seen] == ["not now"]


def test_benchmarks_of_the_profiler() -> None:
    for name in ("do_bench", "do_bench_cudagraph"):
        ours = inspect.signature(getattr(testing, f"{name}_proton")).parameters
        theirs = inspect.signature(getattr(testing, name)).parameters
        # Without the names of Triton 2, which had no such functions.
        old = [k for k, p in theirs.items() if p.kind is p.KEYWORD_ONLY]
        assert list(ours.items()) == [x for x in theirs.items() if x[0] not in old]
    assert testing.do_bench_proton(lambda: None, warmup=1, rep=1, device="cpu") >= 0


@tegula.constexpr_function
def broken(x: int) -> int:
    return x // 0


def test_exceptions_as_they_are() -> None:
    """knobs.compilation.front_end_debugging: with the traceback of what raised."""
    import traceback

    @tegula.jit
    def kernel(x):
        tl.store(x, broken(3))

    x = np.zeros(1, np.int32)
    with pytest.raises(tegula.CompileError, match="ZeroDivisionError: integer"):
        kernel[(1,)](x)
    with knobs.compilation.scope() as group:
        group.front_end_debugging = True
        with pytest.raises(ZeroDivisionError) as e:
            kernel[(1,)](x)
        assert traceback.extract_tb(e.value.__traceback__)[-1].name == "broken"
    with pytest.raises(tegula.CompileError):
        kernel[(1,)](x)
