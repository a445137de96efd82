"""tegula.testing: what a comparison says, what a timing returns."""

from __future__ import annotations

import numpy as np
import pytest

from tegula import errors, knobs, testing
from tegula.compat import compiler, driver
from tegula.testing import Benchmark, assert_close, do_bench, perf_report


def test_equal_including_nan():
    x = np.array([1.0, np.nan, np.inf])
    assert_close(x, x.copy(), atol=0)


def test_message_names_the_worst_element():
    x = np.zeros((3, 4), np.float32)
    y = x.copy()
    y[0, 1], y[2, 3] = 0.5, -2
    with pytest.raises(AssertionError) as caught:
        assert_close(y, x, atol=0.1)
    text = str(caught.value)
    assert "2 of 12 elements differ" in text
    assert "first [0, 1]: 0.5, expected 0.0" in text
    assert "worst [2, 3]: -2.0, expected 0.0, off by 2" in text


def test_an_unexpected_nan_is_worse_than_any_gap():
    with pytest.raises(AssertionError, match=r"worst \[1\]: nan, expected 1.0"):
        assert_close(np.array([9.0, np.nan]), np.ones(2))


def test_shapes_are_not_broadcast():
    with pytest.raises(AssertionError, match=r"shape \[3\], expected \[2, 3\]"):
        assert_close(np.zeros(3), np.zeros((2, 3)))


def test_large_integers_compare_exactly():
    x = np.array([2**53], np.int64)
    with pytest.raises(AssertionError, match="1 of 1"):
        assert_close(x + 1, x, atol=0)


def test_tolerances_may_depend_on_the_type():
    assert_close(np.float32([1.05]), np.ones(1), atol=lambda t: 0.1 if t == "f4" else 0)


@pytest.mark.parametrize("mode", ["mean", "median", "min", "max"])
def test_do_bench_gives_milliseconds(mode):
    x = np.ones(1 << 16)
    ms = do_bench(lambda: np.sqrt(x), warmup=1, rep=5, return_mode=mode, device="cpu")
    assert 0 < ms < 1000


def test_do_bench_quantiles():
    got = do_bench(lambda: None, 1, 1, quantiles=[0.5, 0.2, 0.8], device="cpu")
    assert got[1] <= got[0] <= got[2]
    with pytest.raises(ValueError, match="return_mode"):
        do_bench(lambda: None, return_mode="average", device="cpu")


def test_do_bench_as_triton_2_called_it():
    got = testing.do_bench(lambda: None, 1, 1, percentiles=(0.5, 0.2), fast_flush=True)
    assert len(got) == 2
    assert compiler.OutOfResources is errors.OutOfResources


def test_perf_report_prints_a_table(capsys):
    bench = Benchmark(["n"], [1, 20], "who", ["a", "b"], ["A", "B"], "plot", {"k": 2})

    @perf_report(bench)
    def measured(n, k, who):
        return n * k if who == "a" else (n, n - 1, n + 1)

    measured.run(print_data=True)
    assert capsys.readouterr().out.split() == (
        ["plot:", "n", "A", "B", "1", "2", "1", "20", "40", "20"]
    )


def test_knob_scope_puts_values_back():
    before = knobs.compilation.dump
    with knobs.compilation.scope():
        knobs.compilation.dump = "fold"
        assert knobs.compilation.dump == "fold"
    assert knobs.compilation.dump == before
    with pytest.raises(AttributeError, match="no knob 'dumb'"):
        knobs.compilation.dumb = 1


def test_ours_wins_over_triton_s_variable(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with knobs.runtime.scope():
        assert knobs.runtime.interpret is True
        monkeypatch.setenv("TEGULA_INTERPRET", "0")
        assert knobs.runtime.interpret is False
        monkeypatch.setenv("TEGULA_INTERPRET", "maybe")
        with pytest.raises(ValueError, match="TEGULA_INTERPRET=maybe"):
            assert knobs.runtime.interpret


def test_first_asked_in_inference_mode(monkeypatch):
    """The buffer that flushes caches outlives the mode that it was first asked for in."""
    torch = pytest.importorskip("torch")
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda n, dtype, device: empty(8, dtype=dtype))
    clock, here = testing.TorchClock(), torch.device("cpu")
    monkeypatch.setattr(driver.active, "get_active_torch_device", lambda: here)
    with torch.inference_mode():
        clock.flush()
        cache = driver.active.get_empty_cache_for_benchmark()
    clock.flush()
    driver.active.clear_cache(cache)
    assert not clock._buffer.is_inference() and not cache.is_inference()


def test_perf_report_saves(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    bench = Benchmark(
        ["m", "n"], [(1, 2), 3], "p", [1, 2], ["A", "B"], "both", {"k": 5}
    )

    @perf_report([bench])
    def f(m, n, p, k):
        return m * n * p / k, 0.0, 9.0

    f.run(save_path=str(tmp_path / "new"), diff_col=True, save_precision=3)
    found = {p.name: p for p in (tmp_path / "new").iterdir()}
    assert sorted(found) == ["both.csv", "both.png", "results.html"]
    lines = found["both.csv"].read_text().split()
    assert lines == ["m,n,A,B,Diff", "1,2,0.400,0.800,0.400", "3,3,1.800,3.600,1.800"]
    assert 'src="both.png"' in found["results.html"].read_text()
