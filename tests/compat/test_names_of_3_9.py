"""Names that Triton's modules have in 3.9, each of them used."""

from __future__ import annotations

import gc
import importlib
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs, profiler, tensors, testing, tools
from tegula.compat import compiler, driver
from tegula.language import core, standard, target_info
from tegula.runtime import cache
from tegula.tools import tensor_descriptor

# Functions of these names hide the modules.
autotune: Any = importlib.import_module("tegula.autotune")
jit: Any = importlib.import_module("tegula.jit")


@tegula.jit
def copy(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i))


def test_jit_reads_source() -> None:
    lines = ["@jit\n", "@other(1)\n", "    def kernel(x):\n", "        pass\n"]
    assert jit.get_def_line_number(lines, 10) == 12
    assert jit.get_def_col_number("".join(lines)) == 5
    assert jit.INDENT_PATTERN.search("  def f(x): pass")
    with pytest.raises(ValueError, match="no function"):
        jit.get_def_col_number("x = 1")


def test_jit_keys() -> None:
    assert jit.convert_to_tuple_if_list([1, [2, [3]], (4,)]) == (1, (2, (3,)), (4,))
    keys: dict[Any, str] = {}
    one = jit.compute_cache_key(keys, [("i32", "D")], {"num_warps": 4})
    assert one == jit.compute_cache_key(keys, [("i32", "D")], {"num_warps": 4})
    assert one != jit.compute_cache_key(keys, [("i32", "")], {"num_warps": 4})
    assert len(keys) == 2


def test_jit_binds() -> None:
    kernel: Any = copy
    bind = jit.create_function_from_signature(kernel.signature, kernel.params, None)
    x = tegula.MockTensor(tl.float32)
    bound, special, options = bind(x, y=x, N=4, num_warps=8)
    assert list(bound) == ["x", "y", "N"] and options == {"num_warps": 8}
    assert special[0] == ("*fp32", "D") and special[2] == ("constexpr", 4)


def test_bound_function_of_constants() -> None:
    class Size:
        n = 3

    @tegula.constexpr_function
    def area(self: Any, k: int) -> int:
        return self.n * k

    bound = jit.BoundConstexprFunction(Size(), area)
    assert bound(5) == 15 and bound.__self__.n == 3


def test_modules_of_the_language() -> None:
    assert jit.TRITON_MODULE == "triton.language"
    assert jit.GLUON_MODULE.startswith("triton.experimental")


def test_variables_that_change_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    for module in (jit, autotune, compiler):
        found = module.get_cache_invalidating_env_vars()
        assert found["TRITON_DEFAULT_FP_FUSION"] == "0"


def test_autotuner_and_compiler_have_caches(tmp_path: Path) -> None:
    assert autotune.driver is driver
    assert autotune.triton_key() == compiler.triton_key()
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        knobs.cache.dump_dir = knobs.cache.override_dir = str(tmp_path / "other")
        key = "ab" * 32
        path = autotune.get_cache_manager(key).put(b"1", "x.bin")
        assert Path(path).read_bytes() == b"1"
        assert compiler.get_cache_manager(key).has_file("x.bin")
        assert compiler.get_dump_manager(key).put(b"2", "y.bin")
        assert compiler.get_override_manager(key).has_file("y.bin")
        names = ("cache", "dump", "override")  # Triton until 3.3
        assert [getattr(cache, f"default_{name}_dir")() for name in names] == [
            str(tmp_path),
            str(tmp_path / "other"),
            str(tmp_path / "other"),
        ]


def test_stages_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tegula.tools import disasm

    monkeypatch.setattr(disasm, "get_sass", lambda cubin: f"sass of {cubin!r}")
    asm = compiler.AsmDict(cubin=b"1")
    assert asm["sass"] == "sass of b'1'" and compiler.get_sass(b"2") == "sass of b'2'"
    with pytest.raises(KeyError, match="no stage"):
        asm["ttir"]
    (tmp_path / "k.ptx").write_text(".visible")
    assert compiler.parse(str(tmp_path / "k.ptx"), "ptx", None) == ".visible"
    assert compiler.parse(str(tmp_path / "k.ptx"), "cubin", None) == b".visible"
    with pytest.raises(ValueError, match="MLIR"):
        compiler.parse("k.ttir", "ttir", None)
    assert (
        "nvidia" in compiler.backends
        and driver.backends.keys() == compiler.backends.keys()
    )


def test_patterns_find_parameters() -> None:
    ptx = copy.compile("*fp32", "*fp32", N=64, target="cuda:sm_90a").asm["ptx"]
    assert compiler.prototype_pattern["ptx"] == compiler.ptx_prototype_pattern
    match = re.search(compiler.prototype_pattern["ptx"], ptx)
    assert match and match[1] == "copy"
    types = re.findall(compiler.arg_type_pattern["ptx"], match[2])
    assert types and set(types) == {"u64"}
    assert compiler.ptx_arg_type_pattern == compiler.arg_type_pattern["ptx"]
    assert (
        compiler.convert_type_repr("!tt.ptr<f32, 1> {tt.divisibility = 16}") == "*f32"
    )
    assert compiler.convert_type_repr("!tt.ptr<i8> {tt.nv_tma_desc = 1}") == "nvTmaDesc"


def test_compile_timer() -> None:
    timer = compiler.CompileTimer()
    timer.finished_ir_initialization()
    timer.stage_finished("ptx")
    times = timer.end()
    assert [name for name, _ in times.lowering_stages] == ["ptx"]
    assert times.total >= times.total_lowering >= 0


def test_tracebacks_without_the_compiler() -> None:
    with pytest.raises(Exception) as e:
        testing.assert_close(np.zeros(1), np.ones(1))
    compiler.filter_traceback(e.value)
    tb = e.value.__traceback__
    files = []
    while tb is not None:
        files.append(tb.tb_frame.f_code.co_filename)
        tb = tb.tb_next
    assert files == [__file__] or set(files) == {__file__}


def test_methods_of_tensors() -> None:
    assert {"sum", "to", "atomic_load", "atomic_poll", "softmax"} <= set(dir(tl.tensor))
    assert tl.tensor.sum is tl.sum and "Sum along axis" in (tl.tensor.sum.__doc__ or "")
    assert hasattr(tl.tensor, "atomic_load") and not hasattr(tl.tensor, "load")
    assert "T" in dir(tl.tensor) and "swapped" in (tl.tensor.T.__doc__ or "")


def test_core() -> None:
    assert core.is_builtin(tl.load) and not core.is_builtin(print)
    assert core.TRITON_BUILTIN in vars(tl.load)
    assert core.is_negative_zero(-0.0) and not core.is_negative_zero(0.0)
    assert isinstance(copy, core.JITCallable)
    assert core.slice_type().name == "slice_type" and core.slice_type is core.slice_type
    assert core.expect_zero is tl.expect_zero and core.atomic_poll is tl.atomic_poll
    for text in (core.CAT_CAN_REORDER_WARNING, core.RESHAPE_CAN_REORDER_WARNING):
        assert "deprecated" in text

    class Value:
        dtype = tl.int32

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        core.check_bit_width(Value, tl.constexpr(31))
        with pytest.raises(UserWarning, match="32 of 32"):
            core.check_bit_width(Value, tl.constexpr(32))


@core.extern
def average(x, y, _semantic=None):
    x, y = core.binary_op_type_legalization(x, y, _semantic)
    tl.static_assert(x.type == y.type)
    return (x + y) // 2


@tegula.jit
def averages(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = average(tl.load(x + i)[:, None], tl.load(y + i)[None, :])
    tl.static_assert(a.dtype == tl.int16)
    tl.store(out + i[:, None] * N + i[None, :], a)
    b, c = core.binary_op_type_legalization(tl.load(x), rhs=7)
    tl.static_assert(b.dtype == c.dtype == tl.int8)
    tl.store(out, b + c)


@tegula.jit
def of_a_pointer(x):
    core.binary_op_type_legalization(x, 1)


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
def test_operands_as_operators_take_them(target: str) -> None:
    x, y = np.arange(4, dtype=np.int8), np.arange(100, 104, dtype=np.int16)
    out = np.zeros((4, 4), np.int32)
    with knobs.runtime.scope() as group:
        group.target = target
        averages[(1,)](x, y, out, 4)
    wanted = (x[:, None].astype(np.int16) + y) // 2
    wanted[0, 0] = 7
    assert (out == wanted).all()
    with pytest.raises(tegula.CompileError, match="cannot combine"):
        of_a_pointer.lower("*fp32")


@tegula.jit
def sort_two_ways(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, N), tl.standard.sort_impl(v, descending=True))
    tl.store(out + N + tl.arange(0, 2), tl.standard.sort_impl(v, k=2))


@tegula.jit
def methods(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, N), v.sort(descending=True))
    both = (v > 0).logical_and(other=v < 3).logical_or(other=v == 0)
    tl.store(out + N + tl.arange(0, N), both.to(tl.int32))


def test_more_methods_of_tensors() -> None:
    x = np.array([3, 1, 2, 0], np.int32)
    out = np.full(8, -1, np.int32)
    methods[(1,)](x, out, 4)
    assert out.tolist() == [3, 2, 1, 0, 0, 1, 1, 1]


def test_memory_for_profilers() -> None:
    assert not tensors.has_profile_allocator()
    tensors.set_profile_allocator(lambda size, alignment, stream: None)
    assert tensors.has_profile_allocator()
    tensors.set_profile_allocator(None)
    assert not tensors.has_profile_allocator()


def test_sort_impl() -> None:
    x = np.array([3, 1, 2, 0], np.int32)
    out = np.full(6, -1, np.int32)
    sort_two_ways[(1,)](x, out, 4)
    assert out.tolist() == [3, 2, 1, 0, 0, 1]
    assert standard.sort_impl is tl.standard.sort_impl


def test_knobs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert knobs.toenv(None) == (None,) and knobs.toenv(True) == ("1",)
    assert knobs.toenv("x") == ("x",) and knobs.toenv(3) == ("3",)
    assert knobs.toenv(object()) is None
    monkeypatch.setenv("A_KNOB", "on")
    assert knobs.getenv_bool("A_KNOB", False) and knobs.getenv_bool("NO_KNOB", True)
    assert isinstance(knobs.env, knobs.Env)
    assert "TRITON_DEFAULT_FP_FUSION" in knobs.FP_FUSION_DEFAULT_WARNING
    info = knobs.JITHookCompileInfo
    assert {"key", "num_warps", "is_warmup"} <= set(info.__annotations__)

    def build(name: str, src: str, *rest: list[str]) -> str:
        return name

    impl: knobs.BuildImpl = build
    attrs: knobs.KernelAttr = ["tt.divisibility", 16]
    assert impl("a", "b", [], [], []) == "a" and attrs[1] == 16
    names = (knobs.SetType, knobs.GetType, knobs.knobs_type)
    assert [t.__name__ for t in names] == ["SetType", "GetType", "knobs_type"]


def test_nobody_said_how_products_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """3.10 changes the default: who asks for it is told, and who has chosen is not."""
    monkeypatch.delenv("TRITON_DEFAULT_FP_FUSION", raising=False)
    monkeypatch.delenv("TEGULA_FP_FUSION", raising=False)
    with knobs.language.scope():
        with pytest.warns(FutureWarning, match="TRITON_DEFAULT_FP_FUSION is not set"):
            assert knobs.language.fp_fusion_enabled()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert knobs.language.fp_fusion_enabled(True)
            assert not knobs.language.fp_fusion_enabled(False)
            monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
            assert not knobs.language.fp_fusion_enabled()
            knobs.language.default_fp_fusion = True
            assert knobs.language.fp_fusion_enabled()


def test_driver_config() -> None:
    config = driver.DriverConfig()
    assert config.active is driver.active
    config.set_active(config.default)
    assert config.active is config.default
    config.reset_active()
    assert target_info.driver is driver


def test_graphs_without_gc(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    class Graph:
        def __init__(self, *args: Any) -> None: ...
        def __enter__(self) -> str:
            return "graph"

        def __exit__(self, *why: Any) -> None: ...

    monkeypatch.setattr(torch.cuda, "graph", Graph)
    with testing.cuda_graph_without_gc("g") as g:
        assert g == "graph" and not gc.isenabled()
    assert gc.isenabled()


def test_cublas() -> None:
    torch = pytest.importorskip("torch")
    a, b, c = torch.ones(2, 3), torch.ones(4, 3), torch.zeros(2, 4)
    testing.cublas().matmul(a, b, c)
    assert (c == 3).all()


def test_tools() -> None:
    assert tensor_descriptor.canonicalize_dtype("torch.float16") == "fp16"
    assert tensor_descriptor.validate_block_shape([4, 8]) == 32
    layout = tools.LinearLayout.identity_1d(4, "lane", "row")
    assert layout.apply({"lane": 3}) == {"row": 3}


@tegula.jit
def scopes(x):
    profiler.language.enter_scope("all")
    event = profiler.language.allocate_event("copy")
    for _ in range(2):
        profiler.language.start_event(event)
        with profiler.language.scope("store"):
            tl.store(x, tl.load(x) + 1.0)
        profiler.language.end_event(event)
    profiler.language.exit_scope("all")


@tegula.jit
def no_event(x):
    profiler.language.start_event("copy")


def test_profiler() -> None:
    import tegula.profiler.language

    profiler.configure_runtime()
    with profiler.metadata_state(), profiler.metadata_state("copy"):
        pass
    tegula.profiler.language.enable_semantic("triton")
    with pytest.raises(ValueError, match="gluon"):
        tegula.profiler.language.disable_semantic("gluon")
    with pytest.raises(tegula.CompileError, match="what allocate_event gives"):
        no_event.lower("*fp32")
    x = np.zeros(1, np.float32)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        scopes[(1,)](x)
    assert x[0] == 2 and any("whole launches" in str(w.message) for w in found)
    assert inspect.isfunction(profiler.enter_scope)
