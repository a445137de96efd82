"""autotune and heuristics: what is tried, what is kept, what is put back."""

from __future__ import annotations

import inspect
import io
import json
import os
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import Config
from tegula.tools.tensor_descriptor import TensorDescriptor


@tegula.jit
def plain(x, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + STEP, mask=i < n)


def blocks(*sizes: int) -> list[Config]:
    return [Config({"BLOCK": b}) for b in sizes]


def clock(times: list[float]):
    left = iter(times)

    def do_bench(call, quantiles):
        call()
        return [next(left)] * len(quantiles)

    return do_bench


def grid(meta):
    return (-(-meta["n"] // meta["BLOCK"]),)


def test_the_fastest_is_kept_for_each_key():
    tuned = tegula.autotune(
        blocks(16, 32, 64), ["n"], do_bench=clock([3, 1, 2, 1, 2, 3])
    )(plain)
    x = np.zeros(100, np.float32)
    tuned[grid](x, 100, STEP=1)
    assert tuned.best_config.kwargs == {"BLOCK": 32} and x.tolist() == [4.0] * 100
    tuned[grid](x, 100, STEP=1)
    assert x.tolist() == [5.0] * 100 and len(tuned.cache) == 1
    tuned[grid](x, 50, STEP=1)
    assert tuned.best_config.kwargs == {"BLOCK": 16} and len(tuned.cache) == 2


def test_one_configuration_is_not_measured():
    def never(call, quantiles):
        raise AssertionError

    tuned = tegula.autotune(blocks(32), ["n"], do_bench=never)(plain)
    x = np.zeros(40, np.float32)
    compiled = tuned[grid](x, 40, STEP=2)
    assert x.tolist() == [2.0] * 40 and compiled.src.fn is plain


def test_restore_and_reset():
    x = np.arange(64, dtype=np.float32)
    tuned = tegula.autotune(
        blocks(16, 32), ["n"], restore_value=["x"], do_bench=clock([1, 2])
    )(plain)
    tuned[grid](x, 64, STEP=1)
    assert x.tolist() == [i + 1.0 for i in range(64)]
    x[:] = 7
    tuned = tegula.autotune(
        blocks(16, 32), ["n"], reset_to_zero=["x"], do_bench=clock([1, 2])
    )(plain)
    tuned[grid](x, 64, STEP=1)
    assert x.tolist() == [1.0] * 64


def test_configurations_that_do_not_fit_lose():
    @tegula.jit
    def picky(x, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 64)
        tl.store(x + tl.arange(0, BLOCK), BLOCK)

    tuned = tegula.autotune(blocks(64, 32, 128), [], do_bench=clock([5]))(picky)
    x = np.zeros(32, np.float32)
    tuned[(1,)](x)
    assert x.tolist() == [32.0] * 32
    with pytest.raises(tegula.errors.AutotunerError):
        tegula.autotune(blocks(64, 128), [], do_bench=clock([]))(picky)[(1,)](x)


def test_what_no_configuration_mends_is_an_error():
    tuned = tegula.autotune(blocks(-16, 0), ["n"], do_bench=clock([1, 1]))(plain)
    with pytest.raises(tegula.CompileError, match="greater than the start"):
        tuned[grid](np.zeros(64, np.float32), 64, STEP=1)
    one = tegula.autotune(blocks(16, 0), ["n"], do_bench=clock([1]))(plain)
    with pytest.warns(
        UserWarning, match=r"leaves out BLOCK: 0.*greater than the start"
    ):
        one[grid](np.zeros(64, np.float32), 64, STEP=1)
    assert one.best_config.kwargs == {"BLOCK": 16}


def test_a_value_given_twice():
    tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock([1, 1]))(plain)
    with pytest.raises(ValueError, match="BLOCK"):
        tuned[grid](np.zeros(64, np.float32), 64, BLOCK=16, STEP=1)


def test_pruning():
    tried = []

    def early(configs, named_args, **kwargs):
        assert named_args["n"] == 64 and kwargs["STEP"] == 1
        return configs[1:]

    def model(**kwargs):
        tried.append(kwargs["BLOCK"])
        return -kwargs["BLOCK"]

    tuned = tegula.autotune(
        blocks(16, 32, 64, 128),
        ["n"],
        prune_configs_by={"early_config_prune": early, "perf_model": model, "top_k": 2},
        do_bench=clock([2, 1]),
    )(plain)
    tuned[grid](np.zeros(64, np.float32), 64, STEP=1)
    assert tried == [32, 64, 128] and tuned.best_config.kwargs == {"BLOCK": 64}
    with pytest.raises(tegula.errors.AutotunerError):
        tegula.autotune(
            blocks(16, 32),
            ["n"],
            prune_configs_by={"early_config_prune": lambda *a, **k: []},
        )(plain)[grid](np.zeros(64, np.float32), 64, STEP=1)


def test_hooks():
    events = []
    configs = [
        Config(
            {"BLOCK": 16}, pre_hook=lambda args: events.append(("config", args["n"]))
        ),
        Config({"BLOCK": 32}),
    ]
    tuned = tegula.autotune(
        configs,
        ["n"],
        pre_hook=lambda args, reset_only=False: events.append(("pre", reset_only)),
        post_hook=lambda args, exception: events.append(("post", exception)),
        do_bench=clock([1, 2]),
    )(plain)
    tuned[grid](np.zeros(64, np.float32), 64, STEP=1)
    assert events == [
        ("config", 64), ("pre", False), ("post", None),
        ("pre", False), ("post", None),
        ("pre", True), ("config", 64),
    ]  # fmt: skip


def test_heuristics_see_what_came_before():
    @tegula.heuristics(
        {"BLOCK": lambda args: 64, "STEP": lambda args: args["BLOCK"] + 1}
    )
    @tegula.jit
    def kernel(x, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, STEP, mask=i < n)

    x = np.zeros(64, np.float32)
    kernel[(1,)](x, 64, STEP=5)  # what a heuristic gives replaces the caller's
    assert x.tolist() == [65.0] * 64


def test_autotune_over_heuristics_over_jit():
    heuristic = tegula.heuristics({"STEP": lambda args: args["BLOCK"]})(plain)
    tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock([2, 1]))(heuristic)
    x = np.zeros(64, np.float32)
    tuned[grid](x, 64)
    assert x[0] == 16 + 32 + 32 and tuned.base_fn is plain.fn
    assert len(tuned.warmup(x, 64, grid=grid)) == 2


def test_tuned_kernels_can_be_called_from_kernels():
    @tegula.jit
    def inner(x, BLOCK: tl.constexpr = 4):
        return x + BLOCK

    wrapped = tegula.heuristics({"BLOCK": lambda args: 4})(inner)

    @tegula.jit
    def outer(x):
        tl.store(x, wrapped(tl.load(x)))

    x = np.zeros(1, np.float32)
    outer[(1,)](x)
    assert x[0] == 4


def test_the_tuners_themselves_are_no_functions():
    with pytest.raises(RuntimeError, match=r"plain\[grid\]"):
        tegula.autotune(blocks(16), ["n"])(plain)(1)


def test_results_on_disk(tmp_path):
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        x = np.zeros(64, np.float32)

        def tune(do_bench):
            tuned = tegula.autotune(
                blocks(16, 32), ["n"], do_bench=do_bench, cache_results=True
            )(plain)
            tuned[grid](x, 64, STEP=1)
            return tuned.best_config.kwargs

        assert tune(clock([2, 1])) == {"BLOCK": 32}
        assert tune(clock([])) == {"BLOCK": 32}  # read, not measured
        (path,) = (tmp_path / "autotune").glob("plain-*.json")
        path.write_text("{broken")
        assert tune(clock([1, 2])) == {"BLOCK": 16}


def test_configs_compare_by_what_they_say():
    a, b = Config({"B": 1}, num_warps=8), Config({"B": 1}, num_warps=8)
    assert a == b and hash(a) == hash(b) and a != Config({"B": 1})
    assert a.all_kwargs() == {"B": 1, "num_warps": 8, "num_ctas": 1, "num_stages": 3}
    assert str(a) == "B: 1, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: None"


def test_the_real_clock():
    tuned = tegula.autotune(blocks(16, 1024), ["n"])(plain)
    x = np.zeros(4096, np.float32)
    tuned[grid](x, 4096, STEP=0)
    assert tuned.best_config in tuned.configs and tuned.bench_time > 0


def test_choices_are_looked_up_by_values_and_types():
    times = [1, 2] * 8
    tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock(times))(plain)
    tuned.keys.append("nowhere")
    x = np.zeros(64, np.float32)
    tuned[grid](x, 64, STEP=1)
    tuned[grid](x, n=64, STEP=1)  # the same key, written otherwise
    tuned[grid](STEP=1, n=64, x=x)
    assert len(tuned.cache) == 1
    tuned[grid](x.astype(np.float64), 64, STEP=1)
    tuned[grid](x, 32, STEP=1)
    assert len(tuned.cache) == 3
    # What is done to the cache counts: libraries fill and empty it.
    key = next(iter(tuned.cache))
    tuned.cache[key] = tuned.configs[1]
    tuned[grid](x, 64, STEP=1)
    assert tuned.best_config is tuned.configs[1]
    tuned.cache.clear()
    tuned[grid](x, 64, STEP=1)
    assert tuned.best_config is tuned.configs[0] and len(tuned.cache) == 1
    tuned.keys.append("STEP")
    tuned[grid](x, 64, STEP=1)
    assert len(tuned.cache) == 2


def test_configurations_may_be_changed():
    tuned = tegula.autotune([Config({"BLOCK": 32})], ["n"])(plain)
    x = np.zeros(64, np.float32)
    tuned.configs[0].num_warps = 2
    assert tuned[grid](x, 64, STEP=1).metadata.num_warps == 2
    tuned.configs[0].kwargs["BLOCK"] = 16
    tuned[lambda meta: (meta["BLOCK"],)](x, 64, STEP=1)
    with pytest.raises(TypeError, match="BLOCK"):
        tuned[grid](x, 64, STEP=1, BLOCK=8)


def test_what_people_see_of_a_tuned_kernel() -> None:
    """repr names the kernel inside; inspect, and so ?? in IPython, finds its source."""

    @tegula.autotune([Config({"BLOCK": 8})], key=["n"])
    @tegula.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
    @tegula.jit
    def seen(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        tl.store(x_ptr, n + BLOCK)

    assert repr(seen).startswith("Autotuner(Heuristics(JITFunction(")
    assert "seen" in repr(seen)
    assert list(inspect.signature(seen).parameters) == ["x_ptr", "n", "BLOCK", "EVEN"]
    assert "tl.store(x_ptr, n + BLOCK)" in inspect.getsource(seen)


def test_compiles_side_by_side(monkeypatch):
    """Each variant once, in threads of its own, before the first launch."""
    seen = []
    prepare = tegula.JITFunction.prepare

    def counted(self, *args, **kwargs):
        compiled = prepare(self, *args, **kwargs)
        seen.append((threading.current_thread().name, kwargs["BLOCK"], compiled))
        return compiled

    def do_bench(call, quantiles):
        assert len(seen) == 3
        call()
        return [1.0] * 3

    monkeypatch.setattr(tegula.JITFunction, "prepare", counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    tuned = tegula.autotune(blocks(16, 32, 64), ["n"], do_bench=do_bench)(plain)
    x = np.zeros(100, np.float32)
    compiled = tuned[grid](x, 100, STEP=19)
    assert sorted(b for _, b, _ in seen) == [16, 32, 64]
    assert all(name.startswith("tegula-tune") for name, _, _ in seen)
    assert any(compiled is c for _, _, c in seen)  # the launch compiled nothing


def test_a_hook_changes_a_descriptor_of_its_own():
    """Blocks of descriptors are set by hooks, while others are being compiled."""

    @tegula.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK
        tl.store(out + at + tl.arange(0, BLOCK), x.load([at]) + 1)

    def hook(nargs):
        nargs["x"].block_shape = [nargs["BLOCK"]]

    configs = [Config({"BLOCK": b}, pre_hook=hook) for b in (16, 32, 64)]
    tuned = tegula.autotune(configs, ["n"], do_bench=clock([2, 3, 1]))(kernel)
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    desc = TensorDescriptor.from_tensor(x, [1])
    tuned[grid](desc, out, 64)
    assert (out == x + 1).all() and desc.block_shape == [64]


def test_what_does_not_compile_is_left_out():
    @tegula.jit
    def kernel(x, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 64)
        tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), BLOCK)

    tuned = tegula.autotune(blocks(16, 64, 32), ["n"], do_bench=clock([2, 1]))(kernel)
    x = np.zeros(64, np.float32)
    tuned[grid](x, 64)
    assert tuned.best_config.kwargs == {"BLOCK": 32} and (x == 32).all()


def test_a_key_is_a_list_of_parameters(monkeypatch):
    said = "key 'N' is no parameter of plain.* 'n'"
    with monkeypatch.context() as m:
        m.delitem(sys.modules, "triton", raising=False)
        with pytest.raises(ValueError, match=said):
            tegula.autotune(blocks(16), ["N"])(plain)
        ours = types.ModuleType("triton")
        ours.__tegula_version__ = "0"
        m.setitem(sys.modules, "triton", ours)  # what was written for Triton
        with pytest.warns(UserWarning, match=said):
            tegula.autotune(blocks(16), ["N"])(plain)
    with pytest.raises(TypeError, match=r"a list of names: key=\['n'\]"):
        tegula.autotune(blocks(16), "n")(plain)


def test_what_nobody_launches_may_have_any_configuration():
    """As in Triton: a library's import decorates kernels that it never launches."""
    tuned = tegula.autotune([Config({"TILE": 16})], ["n"])(plain)
    given = tegula.heuristics({"TILE": lambda args: 16})(plain)
    for kernel in (tuned, given):
        with pytest.raises(ValueError, match="'TILE' is no parameter of plain"):
            kernel[(1,)](np.zeros(4, np.float32), 4, BLOCK=4, STEP=1)


def test_a_missing_argument_and_no_configs():
    tuned = tegula.autotune([], ["n"])(plain)
    with pytest.raises(TypeError, match="misses 1 argument: 'BLOCK'") as e:
        tuned[(1,)](np.zeros(4, np.float32), 4, STEP=1)
    assert e.value.__notes__ == ["@autotune of plain() has no configs"]


def test_one_that_does_not_compile_is_named():
    @tegula.jit
    def fits(x, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, tl.reshape(tl.arange(0, 16), (BLOCK,)))

    tuned = tegula.autotune(blocks(8, 16), [], do_bench=clock([1]))(fits)
    x = np.zeros(16, np.int32)
    with pytest.warns(UserWarning, match=r"leaves out BLOCK: 8.*CompileError") as seen:
        tuned[(1,)](x)
    assert [w.filename for w in seen] == [__file__]  # the launch, not a line of ours
    assert x.tolist() == list(range(16))
    none = tegula.autotune(blocks(8, 4), [])(fits)
    with pytest.raises(tegula.CompileError, match="reshape"):
        none[(1,)](x)


def test_by_how_much_is_printed(capsys):
    tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock([3.0, 2.0]))(plain)
    with tegula.knobs.autotuning.scope():
        tegula.knobs.autotuning.print = True
        tuned[grid](np.zeros(40, np.float32), 40, STEP=1)
    assert "s, 2 ms, the next 50% slower)" in capsys.readouterr().out


# --- what one can watch, and trust ----------------------------------------------------
@tegula.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def arrays():
    return np.ones(64, np.float32), np.zeros(64, np.float32)


def scripted(monkeypatch, times):
    """Times of configurations by their BLOCK, in turn, as the clock of the CPU."""
    asked = []

    def bench(self, *args, config, **kwargs):
        block = config.kwargs["BLOCK"]
        asked.append(block)
        given = times[block]
        ms = given.pop(0) if isinstance(given, list) else given
        return [ms, ms, ms]

    monkeypatch.setattr(tegula.Autotuner, "_bench", bench)
    return asked


def test_finalists_are_timed_again_in_turn(monkeypatch):
    times = {16: [1.0, 3.0, 3.0], 32: [1.05, 2.0, 2.0], 64: 9.0}
    asked = scripted(monkeypatch, times)
    tuned = tegula.autotune(blocks(16, 32, 64), ["n"])(double)
    tuned[grid](*arrays(), 64)
    assert asked == [16, 32, 64, 16, 32, 16, 32]
    assert tuned.best_config.kwargs == {"BLOCK": 32}  # the first look was mistaken
    assert tuned.configs_timings[tuned.configs[0]] == [3.0] * 3


def test_the_same_code_is_timed_once():
    configs = [Config({"BLOCK": b}, num_warps=w) for b in (16, 32) for w in (2, 4, 8)]
    tuned = tegula.autotune(configs, ["n"], do_bench=clock([2, 1]))(double)
    tuned[grid](*arrays(), 64)
    assert len(tuned.configs_timings) == 6 and tuned.best_config == configs[3]
    assert str(tuned.report()).count("the same code as with num_warps: 2") == 4


def test_a_report():
    @tegula.jit(launch_metadata=lambda grid, meta, args: {"bytes": 8 * args["n"]})
    def copy(x, y, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 64)
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    tuned = tegula.autotune(blocks(16, 64, 32), ["n"], do_bench=clock([2e-3, 1e-3]))(
        copy
    )
    with pytest.raises(RuntimeError, match="copy has not been tuned yet"):
        tuned.report()
    assert tuned._repr_html_() is None
    tuned[grid](*arrays(), 64)
    title, head, first, second, last, lead = str(tuned.report()).splitlines()
    assert title.startswith("copy for 64, float32, float32, on cpu: 3 configurations")
    assert title.endswith("; all with num_warps: 4, num_ctas: 1, num_stages: 3")
    assert head.split() == ["config", "ms", "p20", "-", "p80", "rate"]
    assert first.startswith("*  BLOCK: 32") and first.endswith("0.512 GB/s")
    assert "0.002" in second and "BLOCK: 64" in last and "STATIC_ASSERT" in last
    assert lead == "the winner leads by 100%"
    html = tuned._repr_html_()
    assert html == tuned.report().html() and html.count("<tr") == 4
    # Jupyter sets all cells to the right, and breaks them where one is long.
    assert '<td style="text-align: left; white-space: nowrap">BLOCK: 32</td>' in html
    assert '<td style="text-align: right; white-space: nowrap">0.512 GB/s</td>' in html
    assert tuned.report().data["rows"][0]["ms"] == [2e-3] * 3


def test_a_rate_that_is_counted():
    tuned = tegula.autotune(blocks(16, 32), ["n"])(double)
    tuned[grid](*arrays(), 64)
    assert tuned.report().data["work"] == {"bytes": 2 * 64 * 4}
    assert "GB/s" in str(tuned.report()).splitlines()[2]


def test_a_gpu_has_registers_and_spills():
    from tegula import tuning

    types = ("*fp32:16", "*fp32:16", "i32")
    for_gpu = double.compile(*types, BLOCK=64, target="cuda:sm_80")
    for_cpu = double.compile(*types, BLOCK=64)
    assert set(tuning.numbers_of(for_gpu)) == {"registers", "spills", "shared"}
    assert tuning.numbers_of(for_cpu) == {} == tuning.numbers_of(None)


def test_a_line_that_changes(monkeypatch):
    from tegula import tuning_report

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    now = [0.0]
    for stream, shows in ((Terminal(), True), (io.StringIO(), False)):
        shown = tuning_report.Progress("mm", 12, lambda: now[0], stream)
        shown.say(1, "")
        assert stream.getvalue() == ""  # nobody waits for so short a time
        now[0] += 0.6
        shown.say(7, "3.4 ms (BM: 64)")
        shown.close()
        line = "\r\x1b[Kautotuning mm: 7/12, best 3.4 ms (BM: 64)"
        assert stream.getvalue() == (line + "\r\x1b[K" if shows else "")
    cells = []

    class Handle:
        def update(self, shown, raw):
            cells.append(shown["text/plain"])

    def display(shown, raw, display_id):
        cells.append(shown["text/plain"])
        return Handle()

    monkeypatch.setattr(tuning_report, "_notebook", lambda: display)
    shown = tuning_report.Progress("mm", 12, lambda: now[0])
    now[0] += 1
    shown.say(3, "")
    now[0] += 1
    shown.close()
    assert cells == [
        "autotuning mm: 3/12",
        "autotuning mm: 12 configurations in 2.0 s; mm.report() shows them",
    ]


def tuner(path, times, sizes, **options):
    return tegula.autotune(blocks(*sizes), ["n"], do_bench=clock(times), **options)(
        double
    )


def test_one_that_is_added_is_timed_alone(tmp_path):
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        for times, sizes, best in (
            ([2, 3], (16, 32), 16),
            ([], (32, 16), 16),  # in another order
            ([], (32,), None),  # one alone is never measured
            ([1], (16, 32, 64), 64),
            ([], (16, 32), 16),
        ):
            tuned = tuner(tmp_path, times, sizes, cache_results=True)
            tuned[grid](*arrays(), 64)
            assert best in (None, tuned.best_config.kwargs["BLOCK"])
        (path,) = (tmp_path / "autotune").glob("double-*.json")
        assert len(json.loads(path.read_text())["rows"]) == 3


def test_saved_and_loaded(tmp_path):
    file = str(tmp_path / "double.json")
    tuned = tuner(tmp_path, [2, 1], (16, 32), results=file)
    tuned[grid](*arrays(), 64)
    tuned.save()
    again = tuner(tmp_path, [], (16, 32, 64), results=file)  # 64 is never asked for
    again[grid](*arrays(), 64)
    assert again.best_config.kwargs == {"BLOCK": 32}
    assert "BLOCK: 32" in str(again.report())
    other = tuner(tmp_path, [1, 2], (16, 64))
    with pytest.raises(ValueError, match=r"test_autotune.py holds no results"):
        other.load(__file__)
    other.load(file)
    other[grid](*arrays(), 64)  # what is shipped need not be in the list
    assert other.best_config == Config({"BLOCK": 32})
    other[grid](*arrays(), 32)  # another key is measured
    assert other.best_config.kwargs == {"BLOCK": 16}
    with pytest.raises(TypeError, match=r"save\(path\)"):
        other.save()


def test_nothing_is_timed():
    @tegula.jit
    def fits(x, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK > 8)
        tl.store(x + tl.arange(0, BLOCK), BLOCK)

    with tegula.knobs.autotuning.scope():
        tegula.knobs.autotuning.deterministic = True
        tuned = tegula.autotune(blocks(8, 16, 32), [], do_bench=clock([]))(fits)
        x = np.zeros(32, np.float32)
        tuned[(1,)](x)
        assert tuned.best_config.kwargs == {"BLOCK": 16} and x[0] == 16
        with pytest.raises(tegula.CompileError, match="static assertion"):
            tegula.autotune(blocks(8, 4), [], do_bench=clock([]))(fits)[(1,)](x)


def test_scratch_is_not_in_place():
    @tegula.jit
    def through(x, tmp, y, n, BLOCK: tl.constexpr):
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(tmp + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
        tl.debug_barrier()
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(tmp + i, mask=i < n) * 2, mask=i < n)

    @tegula.jit
    def sometimes(x, tmp, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        if n > 8:
            tl.store(tmp + i, 1, mask=i < n)
        tl.debug_barrier()
        tl.store(tmp + i, tl.load(tmp + i, mask=i < n) + tl.load(x + i, mask=i < n))
        tl.store(y + i, 0, mask=i < n)

    x, tmp, y = (np.ones(32, np.float32) for _ in range(3))
    tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock([1, 2]))(through)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned[(1,)](x, tmp, y, 32)
    assert (y == 4).all()
    tuned = tegula.autotune(blocks(32, 16), ["n"], do_bench=clock([1, 2]))(sometimes)
    with pytest.warns(UserWarning, match=r"sometimes\(\) reads and writes 'tmp', and"):
        tuned[(1,)](x, tmp, y, 32)


def test_a_kernel_that_works_in_place():
    x = np.zeros(64, np.float32)
    tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock([1, 2] * 2))(plain)
    with pytest.warns(UserWarning, match=r"plain\(\) reads and writes 'x'.*=\['x'\]"):
        tuned[grid](x, 64, STEP=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned[grid](x, 32, STEP=1)  # once
        for option in ("restore_value", "reset_to_zero"):
            tuned = tegula.autotune(
                blocks(16, 32), ["n"], do_bench=clock([1, 2]), **{option: ["x"]}
            )(plain)
            tuned[grid](x, 64, STEP=1)
        tuned = tegula.autotune(blocks(16, 32), ["n"], do_bench=clock([1, 2]))(double)
        tuned[grid](*arrays(), 64)
