"""runtime.build, tools.build_extern, options of launches, and small names of Triton's."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs
from tegula.runtime.build import (
    compile_module_from_file,
    compile_module_from_src,
    compile_so_from_file,
    compile_so_from_src,
    platform_key,
)
from tegula.tools import build_extern

C = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(VALUE); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, NULL}, {NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "mine", NULL, -1, methods};
PyMODINIT_FUNC PyInit_mine(void) { return PyModule_Create(&def); }
"""


@pytest.fixture
def cache(tmp_path: Path):
    with knobs.cache.scope() as group:
        group.dir = str(tmp_path)
        yield tmp_path


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_compile_module(cache: Path) -> None:
    module = compile_module_from_src(C, "mine", ccflags=["-DVALUE=41"])
    assert module.answer() == 41
    assert compile_module_from_src(C, "mine", ccflags=["-DVALUE=42"]).answer() == 42
    built = list(cache.rglob("mine*.so"))
    assert len(built) == 2
    times = [p.stat().st_mtime_ns for p in built]
    assert compile_module_from_src(C, "mine", ccflags=["-DVALUE=41"]).answer() == 41
    assert [p.stat().st_mtime_ns for p in built] == times  # found, not built
    with pytest.raises(RuntimeError, match="error"):
        compile_module_from_src("#error no\n", "mine")


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_damaged_module_is_built_anew(cache: Path) -> None:
    flags = ["-DVALUE=43"]
    compile_module_from_src(C, "mine", ccflags=flags)
    (built,) = cache.rglob("mine*.so")
    built.unlink()  # the old one stays mapped
    for text in (b"", b"no module"):
        built.write_bytes(text)
        assert compile_module_from_src(C, "mine", ccflags=flags).answer() == 43
        built.unlink()


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_compile_files_and_libraries(cache: Path, tmp_path: Path) -> None:
    """From a file, which includes its neighbour; and libraries for ctypes."""
    (tmp_path / "value.h").write_text("#define VALUE 44\n")
    file = tmp_path / "mine.c"
    file.write_text('#include "value.h"\n' + C)
    assert compile_module_from_file(str(file), "mine").answer() == 44
    path = compile_so_from_src("int twice(int x) { return 2 * x; }", "twice")
    assert ctypes.CDLL(path).twice(21) == 42
    assert path == compile_so_from_src("int twice(int x) { return 2 * x; }", "twice")
    file.write_text("int thrice(int x) { return 3 * x; }")
    assert ctypes.CDLL(compile_so_from_file(str(file), "thrice")).thrice(3) == 9
    with pytest.raises(ValueError, match=r"mine\.txt: the name says no language"):
        compile_so_from_file("mine.txt", "mine")
    assert platform_key().count(",") == 3


@pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler"
)
def test_compile_another_language(cache: Path, tmp_path: Path) -> None:
    text = 'template <int N> int n() { return N; } extern "C" int five() { return n<5>(); }'
    assert ctypes.CDLL(compile_so_from_src(text, "five", language="c++")).five() == 5
    file = tmp_path / "five.cpp"
    file.write_text(text)
    assert ctypes.CDLL(compile_so_from_file(str(file), "five")).five() == 5
    with pytest.raises(ValueError, match="'c' or 'c\\+\\+', not 'rust'"):
        compile_so_from_src(text, "five", language="rust")


def test_another_builder(cache: Path) -> None:
    """knobs.build.impl builds instead."""
    seen = []

    def impl(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags):
        seen.append((name, Path(src).read_text(), libraries, ccflags))
        raise RuntimeError("asked")

    with knobs.build.scope() as group:
        group.impl = impl
        with pytest.raises(RuntimeError, match="asked"):
            compile_module_from_src("int x;", "other", libraries=["m"], ccflags=["-g"])
    assert seen == [("other", "int x;", ["m"], ["-g"])]


LIBRARY = """
define float @__nv_sinf(float %x) {
  ret float %x
}
define double @__nv_sin(double %x) #0 {
  ret double %x
}
define internal float @hidden(float %x) { ret float %x }
define dso_local noundef i32 @__nv_isinff(float noundef %x) { ret i32 1 }
define float @__nv_fast_sinf(float %x) { ret float %x }
define float @__nv_frexpf(float %x, ptr %p) { ret float %x }
define i32 @__nv_float2int_rn(float %x) { ret i32 0 }
"""


def test_names_of_a_library() -> None:
    library = build_extern.Libdevice("libdevice", "libdevice.10.bc")
    library.parse(LIBRARY)
    found = {
        name: [s.arg_types for s in rows] for name, rows in library.symbols.items()
    }
    assert found == {
        "sin": [("fp32",), ("fp64",)],
        "isinf": [("fp32",)],
        "fast_sinf": [("fp32",)],
        "float2int_rn": [("fp32",)],
    }
    plain = build_extern.Library("mine", "mine.bc")
    plain.parse(LIBRARY)
    assert "__nv_sinf" in plain.symbols and "hidden" not in plain.symbols


@pytest.mark.skipif(
    not shutil.which("llvm-as-22") or not shutil.which("llvm-dis-22"),
    reason="no LLVM tools",
)
def test_kernel_with_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From bitcode to a module whose functions a kernel calls."""
    text = 'target triple = "nvptx64-nvidia-cuda"\n'
    text += (
        "define float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n"
    )
    (tmp_path / "mine.ll").write_text(text)
    bitcode = tmp_path / "mine.bc"
    subprocess.run(["llvm-as-22", tmp_path / "mine.ll", "-o", bitcode], check=True)
    args = ["--llvm-dis", "llvm-dis-22", "--lib-path", str(bitcode)]
    assert build_extern.main([*args, "--lib-name", "wrapped", "-o", str(tmp_path)]) == 0
    monkeypatch.syspath_prepend(str(tmp_path))
    import wrapped

    @tegula.jit
    def kernel(x):
        tl.store(x, wrapped.twice(tl.load(x)))

    ptx = kernel.compile("*fp32", target="cuda:sm_80").asm["ptx"]
    assert "add" in ptx
    sys.modules.pop("wrapped")


@tegula.jit
def dot_kernel(x):
    i = tl.arange(0, 16)
    p = x + i[:, None] * 16 + i[None, :]
    a = tl.load(p)
    tl.store(p, tl.dot(a, a))


def ptx_of(target: str, **options: object) -> str:
    text: str = dot_kernel.compile("*fp32", target=target, **options).asm["ptx"]
    return text


def test_arch() -> None:
    """arch= of a launch or a Config; on the CPU it says nothing."""
    assert ".target sm_80" in ptx_of("cuda:sm_90", arch="sm80")
    assert ".target sm_90a" in ptx_of("cuda:sm_80", arch="sm90a")
    assert ".target sm_90\n" in ptx_of("cuda:sm_90", arch=None)
    x = np.eye(16, dtype=np.float32)
    dot_kernel[(1,)](x, arch="sm_80")
    assert np.array_equal(x, np.eye(16))


def test_default_precision() -> None:
    count = [
        ptx_of("cuda:sm_80", default_dot_input_precision=p).count("mma.sync")
        for p in ("ieee", "tf32", "tf32x3", None)
    ]
    assert count[0] == 0 and count[1] == count[3] and count[2] == 3 * count[1]


def test_fields_of_options_are_accepted() -> None:
    x = np.eye(16, dtype=np.float32)
    dot_kernel[(1,)](
        x,
        warp_size=32,
        backend_name="cuda",
        supported_fp8_dtypes=("fp8e5",),
        deprecated_fp8_dot_operand_dtypes=(),
        allowed_dot_input_precisions=("ieee", "tf32"),
        max_num_imprecise_acc_default=0,
        instrumentation_mode="",
        sched4reg=False,
        clc=False,
        min_shared_mem=0,
        fpsan_homomorphic_casts=False,
        ir_override=None,
        ptx_version=None,
        ptx_options=None,
    )


def test_annotation_type() -> None:
    @tegula.jit
    def kernel(a, b: int, c: tl.float16, d: "*fp32", e: tl.constexpr):  # noqa: F722
        pass

    kinds = [p.annotation_type for p in kernel.params]
    assert kinds == ["", "i32", "fp16", "*fp32", ""]


def test_interpreted_function() -> None:
    from tegula.runtime.interpreter import InterpretedFunction

    kernel = InterpretedFunction(dot_kernel.fn)
    assert isinstance(kernel, InterpretedFunction)
    assert not isinstance(dot_kernel, InterpretedFunction)
    x = np.eye(16, dtype=np.float32) * 2
    kernel[(1,)](x)
    assert np.array_equal(x, np.eye(16) * 4)
    with knobs.runtime.scope() as group:
        group.interpret = True
        assert isinstance(dot_kernel, InterpretedFunction)


def test_cache_keys() -> None:
    from tegula.compat.compiler import ASTSource, get_cache_key, make_backend
    from tegula.runtime.cache import make_so_cache_key

    source = ASTSource(dot_kernel, {"x": "*fp32"})
    backend = make_backend(tegula.backends.GPUTarget("cuda", 80, 32))
    key = get_cache_key(source, backend, {"num_warps": 4}, {"A": "1"})
    assert key == get_cache_key(source, backend, {"num_warps": 4}, {"A": "1"})
    assert key != get_cache_key(source, backend, {"num_warps": 8}, {"A": "1"})
    so = [
        make_so_cache_key("v", {"a": t}, {}, {}, n=1) for t in ("*fp32", "*i8", "i32")
    ]
    assert so[0] == so[1] != so[2]


def test_metadata() -> None:
    """What Triton's metadata has, for programs that read all of it."""
    compiled = dot_kernel.compile("*fp32", target="cuda:sm_80")
    m = compiled.metadata
    assert (m.target.backend, m.target.arch, m.target.warp_size) == ("cuda", 80, 32)
    assert m.triton_version and m.tensordesc_meta is None
    scratch = (m.tmem_size, m.global_scratch_size, m.profile_scratch_size)
    assert scratch == (0, 0, 0)
    assert compiled.asm["source"] == compiled.asm["ttir"]


def test_cublas() -> None:
    torch = pytest.importorskip("torch")
    from tegula.compat.libtriton import nvidia

    torch.manual_seed(0)
    a, b = torch.randn(4, 8), torch.randn(6, 8)
    c, d = torch.empty(4, 6), torch.empty(4, 6)
    cublas = nvidia.cublas.CublasLt(torch.empty(16, dtype=torch.uint8))
    cublas.matmul(a, b, c)
    assert torch.allclose(c, a @ b.T)
    cublas.gemm(a, b, c, d, 2.0, -1.0)
    assert torch.allclose(d, a @ b.T, atol=1e-5)
