"""autotune and heuristics: what is tried, what is kept, what is put back."""

from __future__ import annotations

import inspect
import os
import threading

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
    tuned = tegula.autotune(blocks(16, 32), ["n", "nowhere"], do_bench=clock(times))(
        plain
    )
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
    warmup = tegula.JITFunction.warmup

    def counted(self, *args, **kwargs):
        compiled = warmup(self, *args, **kwargs)
        seen.append((threading.current_thread().name, kwargs["BLOCK"], compiled))
        return compiled

    def do_bench(call, quantiles):
        assert len(seen) == 3
        call()
        return [1.0] * 3

    monkeypatch.setattr(tegula.JITFunction, "warmup", counted)
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


def test_a_key_is_a_list_of_parameters():
    with pytest.warns(UserWarning, match="key 'N' is no parameter of plain.* 'n'"):
        tegula.autotune(blocks(16), ["N"])(plain)
    with pytest.raises(TypeError, match=r"a list of names: key=\['n'\]"):
        tegula.autotune(blocks(16), "n")(plain)


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
    with pytest.warns(UserWarning, match=r"leaves out BLOCK: 8.*CompileError"):
        tuned[(1,)](x)
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
