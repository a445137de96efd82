"""What libraries do with kernels and variants beside launching them."""

from __future__ import annotations

import ast
import json
import pickle
from collections import namedtuple

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs
from tegula.compat.backends import GPUTarget
from tegula.compat.compiler import ASTSource
from tegula.tools.tensor_descriptor import TensorDescriptor


@pytest.fixture(autouse=True)
def no_hooks():
    yield
    knobs.runtime.reset()
    knobs.cache.reset()


SCALE = tl.constexpr(2.0)


def kernel(**options):
    @tegula.jit(**options)
    def scale(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, mask=at < n) * SCALE, mask=at < n)

    return scale


def arrays(n=100):
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


# --- source ---
def test_update_src():
    fn = tegula.JITFunction(kernel().fn)
    x, y = arrays()
    before = fn.cache_key
    fn._unsafe_update_src(fn.src.replace("* SCALE", "* SCALE + 1"))
    assert "SCALE + 1" in fn.src and fn.cache_key != before
    assert fn.parse().body[0].name == "scale"
    fn[(2,)](x, y, 100, BLOCK=64)
    assert (y == 2 * x + 1).all()
    with pytest.raises(RuntimeError, match="ahead of its first launch"):
        fn._unsafe_update_src(fn.src)


def test_errors_in_updated_source_show_it():
    fn = tegula.JITFunction(kernel().fn)
    fn._unsafe_update_src(fn.src.replace("SCALE", "NOWHERE"))
    x, y = arrays()
    with pytest.raises(tegula.CompileError) as e:
        fn[(2,)](x, y, 100, BLOCK=64)
    assert "NOWHERE, mask=at" in str(e.value) and "as updated" in e.value.filename


def test_update_src_refuses_what_is_no_function():
    fn = tegula.JITFunction(kernel().fn)
    with pytest.raises(SyntaxError):
        fn._unsafe_update_src("def f(:")
    with pytest.raises(AttributeError):
        fn._unsafe_update_src("x = 1")
    x, y = arrays()
    fn[(2,)](x, y, 100, BLOCK=64)
    assert (y == 2 * x).all()


def test_used_global_vals():
    fn = kernel()
    ((name, _),) = fn.used_global_vals
    assert name == "SCALE"
    assert [v for v, _ in fn.used_global_vals.values()] == [SCALE]


# --- names ---
def name_of(spec):
    kinds = "_".join(str(t) for t in spec.signature.values())
    return f"scale_{spec.constants['BLOCK']}_{kinds}"


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "cuda:sm_90a"])
def test_repr_names_the_symbol(target):
    fn = kernel(repr=name_of)
    v = fn.compile("*fp32:16", "*fp32", "i32", BLOCK=64, target=target)
    assert v.name == "scale_64__fp32__fp32_i32_constexpr"
    assert v.metadata.name == v.name and v.name in v.asm["llir"]
    if target.startswith("cuda"):
        assert f".entry {v.name}(" in v.asm["ptx"]


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "cuda:sm_90a"])
def test_threads_of_a_block(target):
    """Programs compare it with 32 * num_warps before they launch."""
    v = kernel().compile("*fp32", "*fp32", "i32", BLOCK=64, target=target, num_warps=8)
    assert v.n_max_threads == (1024 if target == "cpu" else 256)


def test_repr_is_part_of_the_key(tmp_path):
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        a = kernel(repr=lambda spec: "one").compile("*fp32", "*fp32", "i32", BLOCK=64)
        b = kernel(repr=lambda spec: "two").compile("*fp32", "*fp32", "i32", BLOCK=64)
        again = kernel(repr=lambda spec: "two")
        c = again.compile("*fp32", "*fp32", "i32", BLOCK=64)
        assert (a.name, b.name, c.name) == ("one", "two", "two")
        assert c.metadata.from_disk and not b.metadata.from_disk
        x, y = arrays()
        again[(2,)](x, y, 100, BLOCK=64)
        assert (y == 2 * x).all()


def test_repr_sees_what_a_launch_sees():
    seen = []
    fn = kernel(repr=lambda spec: seen.append(spec) or "name")
    x, y = arrays(64)
    fn[(1,)](x, y, 1, BLOCK=64)
    assert seen[0].signature == {
        "x": "*fp32",
        "y": "*fp32",
        "n": "constexpr",
        "BLOCK": "constexpr",
    }
    assert seen[0].constants == {"n": 1, "BLOCK": 64} and seen[0].fn is fn


def test_repr_that_gives_no_name():
    x, y = arrays()
    with pytest.raises(TypeError, match="not a name"):
        kernel(repr=lambda spec: 3)[(2,)](x, y, 100, BLOCK=64)


# --- the launcher of a variant ---
def test_run():
    fn, (x, y) = kernel(), arrays()
    v = fn.warmup(x, y, 100, BLOCK=64, grid=(1,))
    assert v.packed_metadata == (4, 1, v.metadata.shared)
    assert v.launch_metadata((2, 1, 1), 0, x, y, 100, 64) is None
    v.run(2, 1, 1, 0, v.function, v.packed_metadata, None, None, None, x, y, 100, 64)
    assert (y == 2 * x).all()


def test_run_calls_the_hooks_it_is_given_once():
    fn, (x, y), log = kernel(), arrays(), []
    v = fn.warmup(x, y, 100, BLOCK=64, grid=(1,))
    knobs.runtime.launch_enter_hook.add(lambda m: log.append(m.get()["name"]))
    meta = v.launch_metadata((2, 1, 1), 0, x, y, 100, 64)
    enter = knobs.runtime.launch_enter_hook
    v.run(2, 1, 1, 0, None, None, meta, enter, None, x, y, 100, 64)
    assert log == ["scale"] and meta.get()["stream"] == 0


def test_stream_of_a_variant():
    fn, (x, y) = kernel(), arrays()
    v = fn.warmup(x, y, 100, BLOCK=64, grid=(1,))
    v[(2, 1, 1)](x, y, 100, 64, stream=0)
    assert (y == 2 * x).all()
    with pytest.raises(TypeError, match="a stream is an integer"):
        v[(2, 1, 1)](x, y, 100, 64, stream="main")


def test_metadata_group_and_device_caches():
    fn, (x, y) = kernel(), arrays()
    v = fn[(2,)](x, y, 100, BLOCK=64)
    assert "scale.tir" in v.metadata_group
    (cache, _) = fn.device_caches["cpu"]
    assert list(cache.values()) == [v]


def test_binder():
    bind = kernel().create_binder()
    args, types, options = bind(*arrays(16), 16, BLOCK=64, num_warps=8)
    assert args["BLOCK"] == 64 and options == {"num_warps": 8}
    assert types[2] == ("i32:16", None) and types[3] == ("constexpr", 64)


# --- compiling from types ---
@tegula.jit
def copy_block(src, dst, i):
    dst.store([i, 0], src.load([i, 0]))


def test_descriptors_in_signatures():
    ty = "tensordesc<fp32[16, 32]>"
    v = copy_block.compile(ty, ty, "i32", target="cpu")
    n = len(copy_block.variants)
    x = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    y = np.zeros_like(x)
    d = [TensorDescriptor(t, [64, 32], [32, 1], [16, 32]) for t in (x, y)]
    assert copy_block[(1,)](*d, 16) is v and len(copy_block.variants) == n
    assert (y[16:32] == x[16:32]).all() and not y[:16].any()
    for target in ("emu:sm_80", "cuda:sm_80"):
        copy_block.compile(ty, ty, "i32", target=target)


def test_a_descriptor_that_is_none():
    with pytest.raises(ValueError, match="expected tensordesc"):
        copy_block.compile("tensordesc<fp32>", "tensordesc<fp32>", "i32")


Pair = namedtuple("Pair", "to scale")


@tegula.jit
def tuples(x, p, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(p[0] + at, tl.load(x + at) * p[1])


def test_tuples_in_signatures():
    v = tuples.compile("*fp32", ("*fp32:16", "i32"), BLOCK=16)
    x, y = arrays(16)
    assert tuples[(1,)](x, (y, 3), BLOCK=16) is v
    assert (y == 3 * x).all()
    src = ASTSource(
        tuples,
        {"x": "*fp32", "p": ("*fp32", "constexpr"), "BLOCK": "constexpr"},
        {(1, 1): 2, "BLOCK": 16},
        {(1, 0): [["tt.divisibility", 16]]},
    )
    assert src.arguments()["p"] == ("*fp32:16", 2)
    v = tegula.compile(src, target=GPUTarget("cuda", 90, 32))
    assert v.name == "tuples" and "ptx" in v.asm


def test_named_tuples_in_signatures():
    @tegula.jit
    def fields(x, p, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(p.to + at, tl.load(x + at) * p.scale)

    v = fields.compile("*fp32", Pair("*fp32", "fp32"), BLOCK=16)
    x, y = arrays(16)
    assert fields[(1,)](x, Pair(y, 0.5), BLOCK=16) is v
    assert (y == x / 2).all()


def test_preload():
    told = []
    fn, (x, y) = kernel(), arrays()
    knobs.runtime.jit_cache_hook = lambda **kw: told.append(kw["compile"]) and False
    fn[(2,)](x, y, 100, BLOCK=64, num_warps=2)
    data = told[0]["specialization_data"]
    assert json.loads(data)["constants"] == {"BLOCK": 64}
    knobs.runtime.reset()
    other = kernel()
    v = other.preload(data)
    assert v.metadata.num_warps == 2
    assert other[(2,)](x, y, 100, BLOCK=64, num_warps=2) is v
    with pytest.raises(RuntimeError, match=r"is for kernel\..*scale, not copy_block"):
        copy_block.preload(data)


def test_preload_of_dtypes():
    @tegula.jit
    def fill(y, how: tl.constexpr, TYPES: tl.constexpr):
        tl.store(y, tl.full((), 1, TYPES[0]).to(how))

    told = []
    knobs.runtime.jit_cache_hook = lambda **kw: told.append(kw["compile"]) and False
    y = np.zeros(1, np.float32)
    fill[(1,)](y, tl.float32, (tl.float16, 2))
    knobs.runtime.reset()
    data = told[0]["specialization_data"]
    assert json.loads(data)["constants"]["how"] == {"dtype": "fp32"}
    assert fill.preload(data) is fill[(1,)](y, tl.float32, (tl.float16, 2))


def test_preload_of_a_warmup_by_dtypes():
    torch = pytest.importorskip("torch")
    told = []
    knobs.runtime.jit_cache_hook = lambda **kw: told.append(kw) and False
    given = (torch.float32, torch.float32, 100)
    fn = kernel()
    v = fn.warmup(*given, BLOCK=64, grid=(1,))
    knobs.runtime.reset()
    assert list(told[0]["compile"]["signature"].values())[:2] == ["*fp32", "*fp32"]
    assert told[0]["fn"].name == "kernel.<locals>.scale"
    assert fn.preload(told[0]["compile"]["specialization_data"]) is v


def test_preload_of_constants_in_tuples():
    @tegula.jit
    def scale(y, how):
        tl.static_assert(how[1][0] == 3)
        tl.store(y, (how[0][0] * how[1][0]).to(how[1][1]))

    told = []
    y = np.zeros(1, np.float32)
    how = ((5,), (tl.constexpr(3), tl.constexpr(tl.float16)))
    knobs.runtime.jit_cache_hook = lambda **kw: told.append(kw["compile"]) and False
    v = scale.warmup(y, how, grid=(1,))
    knobs.runtime.reset()
    assert scale.preload(told[0]["specialization_data"]).hash == v.hash
    scale[(1,)](y, how)
    assert y[0] == 15


# --- hooks ---
def test_load_hooks():
    log = []
    knobs.runtime.kernel_load_start_hook.add(lambda *a: log.append(("start", a[2])))
    knobs.runtime.kernel_load_end_hook.add(lambda *a: log.append(("end", a[4])))
    fn, (x, y) = kernel(), arrays()
    v = fn.warmup(x, y, 100, BLOCK=64, grid=(1,))
    assert not log
    fn[(2,)](x, y, 100, BLOCK=64)
    fn[(2,)](x, y, 100, BLOCK=64)
    assert log == [("start", "scale"), ("end", v.hash)]


@pytest.mark.parametrize("is_kept", [False, True], ids=["new", "on disk"])
def test_a_load_hook_that_raises(is_kept, tmp_path):
    """Also where the first launch runs code that checks bounds."""

    def no(*_):
        raise KeyError("no")

    fn, (x, y) = kernel(), arrays()
    if is_kept:
        fn[(2,)](x, y.copy(), 100, BLOCK=64)
        fn = kernel()
    else:
        knobs.cache.dir = str(tmp_path)
    knobs.runtime.kernel_load_start_hook.add(no)
    with pytest.raises(KeyError):
        fn[(2,)](x, y, 100, BLOCK=64)
    assert not y.any()
    knobs.runtime.reset()
    fn[(2,)](x, y, 100, BLOCK=64)
    assert (y == 2 * x).all()


def test_stages_inspection():
    seen = []
    fn, (x, y) = kernel(), arrays()
    knobs.runtime.add_stages_inspection_hook = lambda *a: seen.append(a)
    fn[(2,)](x, y, 100, BLOCK=64)
    (_, stages, options, _, _) = seen[0]
    assert list(stages) == ["tir", "llir", "obj"] and options["num_warps"] == 4

    def replace(backend, stages, *_):
        stages["llir"] = lambda *_: None

    knobs.runtime.add_stages_inspection_hook = replace
    with pytest.raises(RuntimeError, match="cannot replace stages"):
        kernel()[(2,)](x, y, 100, BLOCK=64)


# --- knobs ---
def test_knobs_without_work_here(monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    assert knobs.amd.use_buffer_ops is True and knobs.amd.use_async_copy is None
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", "0")
    assert knobs.amd.use_buffer_ops is False
    knobs.amd.use_buffer_ops = True
    assert knobs.amd.use_buffer_ops is True
    del knobs.amd.use_buffer_ops
    assert knobs.amd.use_buffer_ops is False
    with knobs.compilation.scope():
        knobs.compilation.disable_line_info = True
        assert knobs.compilation.disable_line_info
    assert not knobs.compilation.disable_line_info
    assert knobs.redis.port == 6379 and knobs.proton.disable is False
    assert knobs.build.cc is None or isinstance(knobs.build.cc, str)


def test_unknown_knobs_stay_errors():
    with pytest.raises(AttributeError, match="has no knob 'nothing'"):
        knobs.amd.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="has no knob 'nothing'"):
        knobs.compilation.nothing = 1
    with pytest.raises(AttributeError):
        knobs.nothing  # noqa: B018


def test_copies_of_knobs(monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    group = knobs.autotuning.copy()
    group.print = True
    assert group.knobs["print"] and not knobs.autotuning.print
    assert group.knob_descriptors["print"].key == "TRITON_PRINT_AUTOTUNING"
    group.print = knobs.env
    assert group.print is False


# --- pointers ---
def test_dimensions_of_a_scalar():
    @tegula.jit
    def store(x, n):
        tl.store(x[None, None, :], (n + 4.0)[None, :, None])

    x = np.zeros(1, np.float32)
    store[(1,)](x, 3)
    assert x[0] == 7


def test_tuples_of_constants():
    @tegula.jit
    def store(x, strides, values):
        tl.static_assert(isinstance(strides[1].type, tl.core.constexpr_type))
        more = tl.tuple([v + 1 for v in values])
        for i in tl.static_range(len(more)):
            tl.store(x + i, more[i])

    x = np.zeros(3, np.float32)
    store[(1,)](x, (4, 1), (1, 2, 3))
    assert x.tolist() == [2, 3, 4]


def test_a_kernel_written_at_run_time():
    """A function without parameters, a signature, and then the source: triton_kernels."""
    import inspect
    import types

    def empty():
        pass

    def written(x, n: tl.constexpr, to=3):
        pass

    fn = types.FunctionType(empty.__code__, {"tl": tl})
    fn.__name__, fn.__signature__ = "fill", inspect.signature(written)
    k = tegula.JITFunction(fn)
    k._unsafe_update_src(
        "def fill(x, n: tl.constexpr, to=3):\n    tl.store(x + tl.arange(0, n), to)\n"
    )
    k.raw_src, k.starting_line_number = ["def fill():"], 7
    assert k.arg_names == ["x", "n", "to"] and k.constexprs == [1]
    x = np.zeros(4, np.float32)
    k[(1,)](x, 4)
    assert x.tolist() == [3] * 4 and k.starting_line_number == 7


def test_options_as_an_object():
    """The options of a compile may come as the attributes of Triton's own class."""
    from tegula.compat.compiler import compile
    from tegula.compat.nvidia import CUDAOptions

    k = kernel()
    src = ASTSource(
        k,
        {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 64},
    )
    options = CUDAOptions(num_warps=8, num_stages=2, enable_fp_fusion=False)
    compiled = compile(src, GPUTarget("cuda", 90, 32), options.__dict__)
    assert compiled.metadata.num_warps == 8 and ".entry scale" in compiled.asm["ptx"]
    with pytest.raises(AssertionError, match="num_warps"):
        CUDAOptions(num_warps=6)


def test_serializer_of_hooks_may_be_replaced():
    """A library guards Triton's serializer by wrapping it where JITFunction lives."""
    import importlib

    jit = importlib.import_module("tegula.jit")
    seen = []
    knobs.runtime.jit_post_compile_hook = lambda **told: seen.append(
        told["compile"]["specialization_data"]
    )
    x, y = arrays()
    kernel()[(1,)](x, y, 100, BLOCK=128)
    assert json.loads(seen[-1])["constants"] == {"BLOCK": 128}
    ours = jit.serialize_specialization_data
    jit.serialize_specialization_data = lambda *_: "replaced"
    try:
        kernel()[(1,)](x, y, 100, BLOCK=256)
    finally:
        jit.serialize_specialization_data = ours
    assert seen[-1] == "replaced"


def test_functions_of_core_and_standard_in_a_kernel():
    """Kernels call them by the module in which Triton defines them."""
    from tegula.language import core, standard

    @tegula.jit
    def clip(x, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        v = tl.load(x + at)
        low = core.maximum(v, standard.zeros_like(v))
        tl.store(x + at, core.where(at > 3, core.clamp(low, 0.0, 5.0), -1.0))

    x = np.arange(-8, 24, dtype=np.float32)
    want = np.where(np.arange(32) > 3, np.clip(x, 0, 5), -1)
    clip[(1,)](x, BLOCK=32)
    assert (x == want).all()


def test_unwrapped_shapes():
    from tegula.language.core import _unwrap_iterable, _unwrap_shape

    shape = tl.constexpr((2, 3))
    assert _unwrap_iterable((shape,)) == (2, 3) == _unwrap_iterable(((2, 3),))
    assert _unwrap_iterable((2, 3)) == (2, 3) and _unwrap_iterable((4,)) == (4,)
    assert _unwrap_shape((tl.constexpr(4), 8)) == [4, 8]


def test_a_cap_above_what_a_thread_can_have():
    """maxnreg=256, of libraries that mean "no cap at all", is the most there is."""
    x, y = arrays()
    c = kernel()[(2,)](x, y, 100, BLOCK=64, maxnreg=256)
    assert (y == 2 * x).all() and c.metadata.maxnreg == 255
    ptx = kernel().compile(
        "*fp32", "*fp32", "i32", 64, target="cuda:sm_90", maxnreg=256
    )
    assert ".maxnreg 255" in ptx.asm["ptx"]
    with pytest.raises(ValueError, match="maxnreg must be an integer from 0"):
        kernel()[(2,)](x, y, 100, BLOCK=64, maxnreg=-1)


def test_a_class_of_kernels_with_a_run_of_its_own():
    class Counted(tegula.JITFunction):
        launches = 0

        def run(self, *args, **kwargs):
            self.launches += 1
            return super().run(*args, **kwargs)

    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(x_ptr + i, i < n) * 2, i < n)

    k, (x, y) = Counted(double), arrays()
    k[(1,)](x, y, 100, BLOCK=128)
    k.run(x, y, 100, 128, grid=(1,), warmup=False)
    assert (y == 2 * x).all() and k.launches == 2


class Holder:
    @staticmethod
    @tegula.jit
    def wrong(x_ptr, n):
        # a comment
        tl.store(x_ptr, tl.arange(0, n))


def test_where_a_compile_failed():
    """src and node are of the function, as of Triton's CompilationError."""
    with pytest.raises(tegula.CompilationError) as caught:
        Holder.wrong[(1,)](arrays()[0], 5)
    e = pickle.loads(pickle.dumps(caught.value))
    assert e.src.startswith("def wrong(x_ptr, n):\n    # a comment\n")
    assert (e.node.lineno, e.node.col_offset) == (3, 33)
    assert ast.unparse(e.node) == "n"
    assert tegula.CompilationError("nothing").node is None
