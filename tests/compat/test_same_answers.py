"""What Triton 3.6 answers on the host, where libraries ask: asked of both sides once, and
written down here."""

from __future__ import annotations

import dataclasses
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.compat
import tegula.language as tl
from tegula import _core, errors, knobs
from tegula.autotune import Autotuner
from tegula.compat import driver, nvidia, utils
from tegula.compat.backends import BaseBackend, CUDAOptions, GPUTarget, Language
from tegula.compat.compiler import ASTSource
from tegula.jit import KernelInterface
from tegula.runtime import cache


@tegula.jit
def plain(
    x,
    n: "i32",  # noqa: F821, UP037
    B: tl.constexpr = 64,
    q: tl.const = None,
    z: int = 3,
    f: float = 1,
):
    tl.store(x, n)


def names(f: Any) -> str:
    return " ".join(inspect.signature(f).parameters)


def test_signatures() -> None:
    assert names(Autotuner) == (
        "fn arg_names configs key reset_to_zero restore_value pre_hook post_hook "
        "prune_configs_by warmup rep use_cuda_graph do_bench cache_results"
    )
    assert names(tegula.JITFunction).split()[0] == "fn"
    assert names(tegula.runtime.Heuristics) == "fn arg_names values"
    assert names(tegula.compile) == "src target options _env_vars"
    assert names(tl.tuple) == "args type" and names(tl.slice) == "start stop step"
    for f in ("load_ragged", "store_ragged", "atomic_add_ragged"):
        from tegula.tools import ragged_tma

        assert names(getattr(ragged_tma, f).fn).startswith("TMA slice_off slice_size")
    assert names(cache.RemoteCacheManager) == "key override dump"
    assert (
        names(tegula.AsyncCompileMode.submit)
        == "self key compile_fn finalize_fn cleanup_fn"
    )


def test_kernels_are_interfaces() -> None:
    tuned = tegula.autotune([tegula.Config({"B": 1})], key=[])(plain)
    chosen = tegula.heuristics({"B": lambda a: 1})(tuned)
    for one in (plain, tuned, chosen):
        assert isinstance(one, KernelInterface)
        assert inspect.unwrap(one) is plain.fn
    assert tuned.base_fn is plain.fn
    assert plain.kernel is None and plain.debug is None and plain.noinline is None
    assert plain.do_not_specialize == [] == plain.do_not_specialize_on_alignment
    assert plain.repr(None) == f"{__name__}.plain"
    assert str(plain.type).startswith("constexpr_type[")


def test_annotations_of_parameters() -> None:
    rows = [
        (p.annotation, p.annotation_type, p.is_constexpr, p.is_const)
        for p in plain.params
    ]
    assert rows == [
        ("", "", False, False),
        ("i32", "i32", False, False),
        ("tl.constexpr", "", True, False),
        ("tl.const", "", False, True),
        ("i32", "i32", False, False),
        ("fp32", "fp32", False, False),
    ]


def test_constants_on_the_host() -> None:
    three, none = tl.constexpr(3), tl.constexpr(0)
    assert three.logical_and(none).value == 0 and three.logical_or(none).value == 3
    assert three.__not__().value is False
    assert isinstance(three, tl.core.base_value) and isinstance(
        tl.int8, tl.core.base_type
    )
    assert int(tl.PropagateNan.ALL) == 0xFFFF
    assert tl.tuple_type([tl.int32, tl.float32]).mangle() == "Ti32_fp32T"
    assert tl.tuple((1, 2), None) == (1, 2) and tl.slice(1, 2, 3).step == 3
    assert str(tl.str_to_ty("constexpr")) == "constexpr_type[None]"
    of = tl.str_to_ty("tensordesc<fp16[16, 32]>").block_type
    assert of == tl.block_type(tl.float16, [16, 32])


def test_backends() -> None:
    backend = BaseBackend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({"num_warps": 8, "foo": 1, "num_stages": None})
    assert (options.num_warps, options.num_stages, options.arch) == (8, 3, "sm90")
    with pytest.raises(AssertionError, match="power of 2"):
        backend.parse_options({"num_warps": 3})
    assert backend.parse_attr("D") == [
        ["tt.divisibility", 16]
    ] and not backend.parse_attr("")
    assert backend.get_int_specialization(32, align=True) == "D"
    assert backend.get_int_specialization(33, align=True) == ""
    assert [e.name for e in Language] == ["TRITON", "GLUON"]
    (module,) = backend.get_module_map().values()
    assert module.tanh
    source = ASTSource(plain, {"x": "*fp32", "n": "i32"}, {"B": 64})
    assert source.parse_options() == {} and source.language is Language.TRITON
    assert len(CUDAOptions().hash()) == 64
    assert CUDAOptions().hash() != CUDAOptions(num_warps=8).hash()


def test_options_are_those_of_a_launch() -> None:
    assert {f.name for f in dataclasses.fields(CUDAOptions)} == set(
        _core._option_names()
    )


def test_names_of_the_cuda_backend() -> None:
    versions = {"11.8": 78, "12.4": 84, "12.6": 85, "12.9": 88, "13.1": 91}
    assert {v: nvidia.ptx_get_version(v) for v in versions} == versions
    assert nvidia.sm_arch_from_capability(90) == "sm_90a"
    assert nvidia.sm_arch_from_capability(80) == "sm_80"
    smallest = nvidia.min_dot_size(GPUTarget("cuda", 90, 32))
    assert smallest(tl.float16, tl.bfloat16) == (1, 1, 16)
    assert smallest(tl.int8, tl.float8e5) == (1, 1, 32)
    assert (
        nvidia.ty_to_cpp("*fp32") == "CUdeviceptr"
        and nvidia.ty_to_cpp("i32") == "int32_t"
    )
    with pytest.raises(RuntimeError, match=r"CUDA 10\.0"):
        nvidia.ptx_get_version("9.0")


def test_small_functions() -> None:
    assert utils.find_paths_if([1, (2, "a")], lambda p, x: x == "a") == [(1, 1)]
    assert utils.get_iterable_path([1, (2, "a")], (1, 1)) == "a"
    assert utils.validate_block_shape([4, 8]) == 32
    for shape, kind in (([3], ValueError), ([1.0], TypeError), ([1 << 21], ValueError)):
        with pytest.raises(kind):
            utils.validate_block_shape(shape)
    assert utils.canonicalize_ptr_dtype("torch.float16", True) == "*kfp16"
    bits = {"bf16": 16, "i1": 1, "fp8e5": 8, "void": 0, "int64": 64, "double": 64}
    assert {k: utils.get_primitive_bitwidth(k) for k in bits} == bits
    assert tl.core.get_primitive_bitwidth("u8") == 8


def test_errors_have_their_message() -> None:
    for cls in (errors.PTXASError, errors.AutotunerError, errors.InterpreterError):
        assert cls("x").error_message == "x" and "x" in str(cls("x"))
        assert cls().error_message is None


def test_capability() -> None:
    with knobs.runtime.scope() as group:
        group.target = "emu:sm_90a"
        assert driver.active.get_device_capability() == (9, 0)
        group.target = "cpu"
        assert driver.active.get_device_capability(0) == (0, 0)


class Kept(cache.RemoteCacheBackend):
    there: dict[str, bytes] = {}

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        return {f: self.there[f] for f in filenames if f in self.there}

    def put(self, filename: str, data: bytes) -> None:
        self.there[filename] = data


def test_remote_files(tmp_path: Path) -> None:
    with knobs.cache.scope() as group:
        group.dir, group.remote_manager_class = str(tmp_path / "a"), None
        with pytest.raises(RuntimeError, match="TRITON_REMOTE_CACHE_BACKEND"):
            cache.RemoteCacheManager("k")
        group.remote_manager_class = Kept
        first = cache.RemoteCacheManager("k")
        assert Path(first.put("text", "f")).read_text() == "text"
        first.put_group("g", {"f": "anywhere"})
        assert Kept.there["f"] == b"text"
        group.dir = str(tmp_path / "b")  # another machine
        second = cache.RemoteCacheManager("k")
        assert Path(second.get_file("f") or "").read_text() == "text"
        assert second.get_file("none") is None and second.get_group("none") is None
        ((name, path),) = (second.get_group("g") or {}).items()
        assert name == "f" and Path(path).read_text() == "text"
        group.dump_dir = str(tmp_path / "d")
        cache.RemoteCacheManager("k", dump=True).put("text", "only here")
        assert "only here" not in Kept.there


def test_finalizers_of_asynchronous_compiles() -> None:
    log: list[Any] = []
    with tegula.AsyncCompileMode(ThreadPoolExecutor(2)) as mode:
        one = mode.submit("key", lambda: 3, log.append)
        assert mode.submit("key", lambda: 4, log.append) is one
    assert log == [3] and one.result() == 3 and log == [3]


def test_check_disk_cache(tmp_path: Path) -> None:
    """For classes derived from Autotuner that choose by themselves."""
    configs = [tegula.Config({"B": 1}), tegula.Config({"B": 2})]
    ran: list[int] = []

    def make() -> Any:
        tuned = tegula.autotune(configs, key=["n"], cache_results=True)(plain)

        def bench() -> None:
            ran.append(1)
            tuned.configs_timings = {configs[0]: [2.0] * 3, configs[1]: [1.0] * 3}
            tuned.cache[16,] = configs[1]

        return tuned, bench

    with knobs.cache.scope() as group:
        group.dir = str(tmp_path)
        tuned, bench = make()
        assert tuned.check_disk_cache((16,), configs, bench) is False
        tuned, bench = make()
        assert tuned.check_disk_cache((16,), configs, bench) is True
        assert tuned.cache[16,].kwargs == {"B": 2} and ran == [1]
        assert tuned.check_disk_cache((), configs, bench) is False and ran == [1, 1]


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
def test_functions_that_combine(target: str) -> None:
    from tegula.language import standard

    @tegula.jit
    def kernel(x, out, F: tl.constexpr, G: tl.constexpr):
        i = tl.arange(0, 8)
        v = tl.load(x + i)
        tl.store(out, tl.reduce(v, 0, F))
        value, index = tl.reduce((v, i), 0, G)
        tl.store(out + 1, value)
        tl.store(out + 2, index)

    x, out = np.array([3, 9, 1, 9, 1, 4, 5, 2], np.int32), np.zeros(3, np.int32)
    expected = {
        "_sum_combine": x.sum(),
        "_prod_combine": x.prod(),
        "_xor_combine": np.bitwise_xor.reduce(x),
        "_or_combine": np.bitwise_or.reduce(x),
        "_elementwise_max": 9,
        "_elementwise_min": 1,
    }
    pairs = {"_argmax_combine": (9, 1), "_argmin_combine": (1, 2)}
    with knobs.runtime.scope() as group:
        group.target = target
        for name, want in expected.items():
            for pair, (value, index) in pairs.items():
                kernel[(1,)](
                    x,
                    out,
                    getattr(standard, name),
                    getattr(standard, f"{pair}_tie_break_left"),
                )
                assert out.tolist() == [want, value, index], (name, pair)
        kernel[(1,)](
            x, out, standard._sum_combine, standard._argmax_combine_tie_break_fast
        )
        assert out[1] == 9 and x[out[2]] == 9


def test_scopes_of_the_profiler(tmp_path: Path) -> None:
    from tegula import profiler

    session = profiler.start(str(tmp_path / "p"))
    with profiler.state("all"), profiler.cpu_timed_scope("part"):
        plain[(1,)](np.zeros(1, np.float32), 3)
    profiler.enter_scope("named")
    with pytest.raises(ValueError, match="is not 'other'"):
        profiler.exit_scope("other")
    profiler.exit_scope("named", {"flops": 5})
    profiler.finalize(session)
    tree = json.loads((tmp_path / "p.hatchet").read_text())[0]
    by_name = {c["frame"]["name"]: c for c in tree["children"]}
    part = by_name["all"]["children"][0]
    assert part["metrics"]["cpu_time (ns)"] > 0
    assert part["children"][0]["metrics"]["count"] == 1
    assert by_name["named"]["metrics"]["flops"] == 5


def test_modules_that_are_not() -> None:
    """FlagGems looks for parts of its own Triton."""
    import importlib.util
    import sys

    was = "triton" in sys.modules
    tegula.compat.install()
    try:
        assert importlib.util.find_spec("triton.flagtune") is None
        assert importlib.util.find_spec("triton.language") is not None
        with pytest.raises(ModuleNotFoundError, match="which has no such part"):
            import triton.flagtune  # noqa: F401
    finally:
        if not was:
            tegula.compat.uninstall()


def test_modules_that_are_there() -> None:
    import subprocess
    import sys

    code = """
import tegula.compat; tegula.compat.install()
from triton._utils import find_paths_if, TRITON_MAX_TENSOR_NUMEL, is_namedtuple
from triton.language.extra.cuda.gdc import gdc_wait, gdc_launch_dependents
from triton.language.extra.cuda.utils import globaltimer, smid, num_warps
from triton.backends.nvidia.compiler import CUDAOptions, GPUTarget, get_ptxas, PTXASError
from triton.backends.nvidia.driver import CudaLauncher, PyCUtensorMap, GPUDriver
from triton.runtime._allocation import set_profile_allocator
from triton.runtime._async_compile import active_mode
from triton.runtime import RemoteCacheBackend
from triton.runtime.jit import JitFunctionInfo, get_full_name, mangle_type
from triton.runtime.jit import get_jit_fn_file_line
from triton.compiler.compiler import max_shared_mem, Language, driver
from triton.tools.ragged_tma import to_ragged_indices
print(max_shared_mem(0) > 0, mangle_type(3), mangle_type(32, True))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout == "True i32 i32:16\n", said.stderr
