"""extern_elementwise of the user's bitcode: what is linked, what is wrong with it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import toolchain
from tegula.language import core

LIBRARY = """
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(4) constant [2 x float] [float 3.0, float 5.0]

define float @twice_and(float %x, i32 %k) {
  %i = and i32 %k, 1
  %p = getelementptr [2 x float], ptr addrspace(4) @table, i32 0, i32 %i
  %c = load float, ptr addrspace(4) %p
  %y = fmul float %x, 2.0
  %z = call float @inner(float %y, float %c)
  ret float %z
}

define float @inner(float %y, float %c) {
  %ftz = call i32 @__nvvm_reflect(ptr @flag)
  %is = icmp ne i32 %ftz, 0
  %z = fadd float %y, %c
  %r = select i1 %is, float %z, float 0.0
  ret float %r
}

define double @other(double %x) {
  ret double %x
}

declare i32 @__nvvm_reflect(ptr)
@flag = private constant [11 x i8] c"__CUDA_FTZ\\00"
"""


@core.extern
def twice_and(x, k, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"), core.dtype("int32")): ("twice_and", core.dtype("fp32"))}
    return core.extern_elementwise("mine", path, [x, k], row, True, _semantic=_semantic)


@core.extern
def misnamed(x, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"),): ("no_such", core.dtype("fp32"))}
    return core.extern_elementwise("mine", path, [x], row, True, _semantic=_semantic)


@core.extern
def mistyped(x, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"),): ("other", core.dtype("fp32"))}
    return core.extern_elementwise("mine", path, [x], row, True, _semantic=_semantic)


@tegula.jit
def kernel(x, out, PATH: tl.constexpr):
    i = tl.arange(0, 128)
    tl.store(out + i, twice_and(tl.load(x + i), i, PATH))


@tegula.jit
def one(x, out, F: tl.constexpr, PATH: tl.constexpr):
    i = tl.arange(0, 128)
    tl.store(out + i, F(tl.load(x + i), PATH))


# What names no machine is code for whatever the target is.
ANYWHERE = re.sub(
    r"(?m)^target .*\n|addrspace\(4\) ?|declare i32 @__nvvm.*\n", "", LIBRARY
)
ANYWHERE = ANYWHERE.replace("call i32 @__nvvm_reflect(ptr @flag)", "add i32 0, 1")


@pytest.fixture
def on_hosts(tmp_path: Path) -> str:
    path = tmp_path / "anywhere.ll"
    path.write_text(ANYWHERE)
    return str(path)


@pytest.fixture
def library(tmp_path: Path) -> str:
    path = tmp_path / "mine.ll"
    path.write_text(LIBRARY)
    return str(path)


def compiled(k: Any, *types: str, **options: Any) -> Any:
    return k.compile(*types, target="cuda:sm_80", **options)


def test_linked(library: str) -> None:
    out = compiled(kernel, "*fp32", "*fp32", PATH=library)
    assert "twice_and" in out.asm["tir"] and out.asm["cubin"]
    ptx = out.asm["ptx"]
    assert ".entry kernel" in ptx and "call" not in ptx and ".func" not in ptx
    assert "other" not in ptx and "ld.const" in ptx


def test_by_the_option(library: str, tmp_path: Path) -> None:
    out = compiled(kernel, "*fp32", "*fp32", PATH="", extern_libs={"mine": library})
    assert "call" not in out.asm["ptx"] and "ld.const" in out.asm["ptx"]
    # another file is another variant, and its contents are what counts
    second = tmp_path / "second.ll"
    second.write_text(LIBRARY.replace("fmul float %x, 2.0", "fadd float %x, 7.0"))
    other = compiled(
        kernel, "*fp32", "*fp32", PATH="", extern_libs={"mine": str(second)}
    )
    assert other.asm["ptx"] != out.asm["ptx"]
    with pytest.raises(tegula.CompileError, match=r"'mine'.*is not known"):
        compiled(kernel, "*fp32", "*fp32", PATH="")
    with pytest.raises(TypeError, match="extern_libs must be a dict"):
        compiled(kernel, "*fp32", "*fp32", PATH="", extern_libs=[library])


def test_a_changed_file_is_read_again(library: str) -> None:
    """By a kernel that is made anew: tests/runtime/test_disk_libraries.py has the rest."""
    first = compiled(kernel, "*fp32", "*fp32", PATH=library).asm["ptx"]
    Path(library).write_text(LIBRARY.replace("float 5.0", "float 9.0"))

    @tegula.jit
    def kernel2(x, out, PATH: tl.constexpr):
        i = tl.arange(0, 128)
        tl.store(out + i, twice_and(tl.load(x + i), i, PATH))

    second = compiled(kernel2, "*fp32", "*fp32", PATH=library).asm["ptx"]
    assert first.replace("kernel2", "kernel") != second.replace("kernel2", "kernel")


def test_mistakes(library: str, tmp_path: Path) -> None:
    with pytest.raises(tegula.CompileError, match="has no function 'no_such'"):
        compiled(one, "*fp32", "*fp32", F=misnamed, PATH=library)
    with pytest.raises(
        tegula.CompileError, match=r"'other' is double.*called as float"
    ):
        compiled(one, "*fp32", "*fp32", F=mistyped, PATH=library)
    with pytest.raises(tegula.CompileError, match="No such file"):
        compiled(kernel, "*fp32", "*fp32", PATH=str(tmp_path / "absent.bc"))
    bad = tmp_path / "bad.bc"
    for data in (
        b"",
        b"BC\xc0\xde",
        b"BC\xc0\xde" + bytes(400),
        b"define float @twice_and(",
    ):
        bad.write_bytes(data)
        with pytest.raises(tegula.CompileError, match="the library"):
            compiled(kernel, "*fp32", "*fp32", PATH=str(bad))


def test_elsewhere(on_hosts: str) -> None:
    x = np.linspace(-4, 4, 128, dtype=np.float32)
    want = 2 * x + np.where(np.arange(128) % 2, np.float32(5), np.float32(3))
    with tegula.knobs.runtime.scope():
        for target, interpret in (("cpu", False), ("cpu", True)):
            tegula.knobs.runtime.target = target
            tegula.knobs.runtime.interpret = interpret
            for path, libs in ((on_hosts, {}), ("", {"mine": on_hosts})):
                out = np.zeros_like(x)
                kernel[(1,)](x, out, PATH=path, extern_libs=libs)
                np.testing.assert_array_equal(out, want)


def test_code_for_gpus_is_refused_on_hosts(library: str) -> None:
    x = np.zeros(128, np.float32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        for interpret, where in ((False, "the CPU"), (True, "the interpreter")):
            tegula.knobs.runtime.interpret = interpret
            told = f"which is code for GPUs, is not supported on {where}"
            with pytest.raises(tegula.errors.UnsupportedError, match=told):
                kernel[(1,)](x, x, PATH=library)


@core.extern
def of_cuda(x, _semantic=None):
    row = {(core.dtype("fp64"),): ("__nv_frcp_of_nothing", core.dtype("fp64"))}
    return core.extern_elementwise("libdevice", "", [x], row, True, _semantic=_semantic)


@core.extern
def tanh_of_cuda(x, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"),): ("__nv_tanhf", core.dtype("fp32"))}
    return core.extern_elementwise(
        "libdevice", path, [x], row, True, _semantic=_semantic
    )


@tegula.jit
def plain(x, out, F: tl.constexpr):
    i = tl.arange(0, 128)
    tl.store(out + i, F(tl.load(x + i)))


def test_known_names_need_no_file() -> None:
    """Given or not, a file is not looked at for a function that we have."""
    x = np.linspace(-2, 2, 128, dtype=np.float32)
    out = np.zeros_like(x)
    one[(1,)](x, out, F=tanh_of_cuda, PATH="/nowhere/libdevice.10.bc")
    np.testing.assert_allclose(out, np.tanh(x), rtol=1e-6)


def test_libdevice_itself() -> None:
    """Where CUDA's file is: what we do not have comes out of it, or is not in it."""
    if toolchain.find_libdevice() is None:
        pytest.skip("no libdevice.10.bc")
    with pytest.raises(
        tegula.CompileError, match="has no function '__nv_frcp_of_nothing'"
    ):
        compiled(plain, "*fp64", "*fp64", F=of_cuda)


@core.extern
def rounded_down(x, y, _semantic=None):
    row = {(core.dtype("fp64"),) * 2: ("__nv_dadd_rd", core.dtype("fp64"))}
    return core.extern_elementwise(
        "libdevice", "", [x, y], row, True, _semantic=_semantic
    )


@tegula.jit
def sums(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, rounded_down(tl.load(x + i), 1.0))


def test_symbols_of_cuda_are_ours() -> None:
    """__nv_dadd_rd is add_rd: on every target, without a file."""
    x = np.full(128, 1e-30)
    out = np.zeros_like(x)
    sums[(1,)](-x, out)
    assert (out == np.nextafter(1.0, 0)).all()


@core.extern
def frexp_of_cuda(x, exponent, _semantic=None):
    pointer = core.pointer_type(core.dtype("int32"))
    row = {(core.dtype("fp32"), pointer): ("__nv_frexpf", core.dtype("fp32"))}
    return core.extern_elementwise("libdevice", "", [x, exponent], row, False)


@tegula.jit
def frexp_kernel(x, out, exponent):
    i = tl.arange(0, 128)
    tl.store(out + i, frexp_of_cuda(tl.load(x + i), exponent + i))


def test_libdevice_linked() -> None:
    """A function of CUDA's file that is not ours; nothing else of the file is kept."""
    if toolchain.find_libdevice() is None:
        pytest.skip("no libdevice.10.bc")
    ptx = compiled(frexp_kernel, "*fp32", "*fp32", "*i32").asm["ptx"]
    assert "call" not in ptx and ptx.count("st.global") == 2 and len(ptx) < 6000


def test_libdevice_on_hosts() -> None:
    """What of CUDA's file is not ours is for GPUs."""
    with pytest.raises(
        tegula.CompileError, match="function '__nv_frexpf' of CUDA is not"
    ):
        frexp_kernel.compile("*fp32", "*fp32", "*i32", target="cpu")


# --- what else may be wrong with a file ----------------------------------------------
TIRC = Path(__file__).parents[2] / "build" / "tirc"


def message(text: str | bytes, tmp_path: Path, target: str = "cpu", n: int = 0) -> str:
    """What a call of ``twice_and`` out of such a file is told."""
    path = tmp_path / f"library{n}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(tegula.CompileError) as e:
        kernel.compile("*fp32", "*fp32", PATH=str(path), target=target)
    assert e.value.filename == __file__ and e.value.code != "LLVM"
    return " ".join(str(e.value).split())


def body(code: str, before: str = "") -> str:
    return f"{before}\ndefine float @twice_and(float %x, i32 %k) {{\n{code}\n}}\n"


BARRIER = "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"


@pytest.mark.parametrize(
    ("code", "before", "says"),
    [
        (
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\nret float %x",
            BARRIER,
            "'llvm.nvvm.barrier.cta.sync.aligned.all', in the function 'twice_and'",
        ),
        (
            "%v = load float, ptr addrspace(3) @room\nret float %v",
            "@room = addrspace(3) global float poison",
            "shared memory, 'room',",
        ),
        (
            "call void @llvm.trap()\nunreachable",
            "declare void @llvm.trap()",
            "'llvm.trap'",
        ),
        (
            "%v = call float @elsewhere(float %x)\nret float %v",
            "declare float @elsewhere(float)",
            "'twice_and' of a library needs 'elsewhere', which is in none",
        ),
        (
            "%v = load float, ptr @own\nret float %v",
            "@own = thread_local global float 0.0",
            "the thread's own variable 'own'",
        ),
        (
            "%v = call float (float, ...) @more(float %x)\nret float %v",
            "define float @more(float %x, ...) {\n%l = alloca ptr\n"
            "%v = va_arg ptr %l, float\nret float %v\n}",
            "a variable number of arguments",
        ),
        (
            '%v = call float asm "ex2.approx.f32 $0, $1;", "=f,f"(float %x)\n'
            "ret float %v",
            "",
            "inline assembly, in the function 'twice_and'",
        ),
        (
            "%v = call float @expf(i32 %k)\nret float %v",
            "declare float @expf(i32)",
            "'expf' of these types, in the function 'twice_and'",
        ),
        (
            "%v = call float @__nv_frexpf(float %x)\nret float %v",
            "declare float @__nv_frexpf(float)",
            "'twice_and' of a library needs '__nv_frexpf', which is in none",
        ),
    ],
    ids=[
        *("barrier", "shared", "trap", "absent", "thread_local", "va_arg"),
        *("assembly", "c_types", "nv_types"),
    ],
)
def test_what_no_host_has(tmp_path: Path, code: str, before: str, says: str) -> None:
    assert says in message(body(code, before), tmp_path)


ON_EMULATOR = {
    "absent": ("%v = call float @elsewhere(float %x)\nret float %v",
               "declare float @elsewhere(float)", "needs 'elsewhere', which is in none"),
    "nv_types": ("%v = call float @__nv_frexpf(float %x)\nret float %v",
                 "declare float @__nv_frexpf(float)", ""),
    "va_arg": ("%v = call float (float, ...) @more(float %x)\nret float %v",
               "define float @more(float %x, ...) {\n%l = alloca ptr\n"
               "%v = va_arg ptr %l, float\nret float %v\n}",
               "a variable number of arguments"),
}  # fmt: skip


@pytest.mark.parametrize("case", ON_EMULATOR)
def test_what_no_gpu_has_is_refused_on_the_emulator(tmp_path: Path, case: str) -> None:
    code, before, says = ON_EMULATOR[case]
    assert says in message(body(code, before), tmp_path, "emu:sm_80")


def on_emulator(code: str, before: str, tmp_path: Path) -> np.ndarray:
    path = tmp_path / "mine.ll"
    path.write_text(body(code, before))
    x = np.arange(128, dtype=np.float32)
    out = np.zeros_like(x)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_80"
        tegula.jit(kernel.fn)[(1,)](x, out, PATH=str(path))
    return out


def test_code_for_a_gpu_on_the_emulator(tmp_path: Path) -> None:
    """It has the threads that hosts lack: barriers, their numbers."""
    code = (
        "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
        '%v = call float asm "cvt.rn.f32.u32 $0, %tid.x;", "=f"()\nret float %v'
    )
    got = on_emulator(code, BARRIER, tmp_path)
    np.testing.assert_array_equal(got, np.arange(128))


@pytest.mark.parametrize(
    ("code", "before", "says"),
    [
        ("call void @llvm.trap()\nunreachable", "declare void @llvm.trap()", "trap"),
        (
            '%v = call float asm "frobnicate $0, $1;", "=f,f"(float %x)\nret float %v',
            "",
            "cannot emulate the compiled kernel: .*frobnicate",
        ),
    ],
    ids=["trap", "no_ptx"],
)
def test_faults_of_such_code(tmp_path: Path, code: str, before: str, says: str) -> None:
    with pytest.raises(tegula.TegulaError, match=says):
        on_emulator(code, before, tmp_path)


def test_only_what_is_reached_counts(tmp_path: Path) -> None:
    unused = (
        BARRIER + "\ndefine void @other() {\n"
        "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\nret void\n}"
    )
    path = tmp_path / "mine.ll"
    path.write_text(body("ret float %x", unused))
    x = np.arange(128, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, PATH=str(path))
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_wrong_files(tmp_path: Path, target: str) -> None:
    good = body("ret float %x")
    for n, (text, says) in enumerate(
        [
            (
                'target triple = "amdgcn-amd-amdhsa"\n' + good,
                "is code for amdgcn",
            ),
            (good.replace("@twice_and", "@twice_or"), "it has 'twice_or'"),
            (
                good.replace("define float", "declare float").split("{")[0],
                "it has none",
            ),
            (good.replace("i32 %k", "i64 %k"), "called as float (float, i32)"),
            (good.replace("i32 %k", "i32 %k, ..."), "called as"),
            (good.replace("define", "define ptx_kernel"), "called as|is a kernel"),
            ("@twice_and = global i32 0", "'twice_and' is no function"),
            (good.replace("ret float %x", "ret i32 %k"), "value doesn't match"),
            (
                good
                + "@llvm.global_ctors = appending global [0 x { i32, ptr, ptr }] []",
                "code that runs when it is loaded",
            ),
        ]
    ):
        told = message(text, tmp_path, target, n)
        assert any(word in told for word in says.split("|")), told


def test_bitcode(on_hosts: str, tmp_path: Path) -> None:
    """The same as bytes; and damaged, which LLVM itself need not survive."""
    made = subprocess.run([TIRC, "bitcode", on_hosts], capture_output=True, check=True)
    path = tmp_path / "mine.bc"
    path.write_bytes(made.stdout)
    x = np.linspace(-4, 4, 128, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, PATH=str(path))
    want = 2 * x + np.where(np.arange(128) % 2, np.float32(5), np.float32(3))
    np.testing.assert_array_equal(out, want)
    rng = np.random.default_rng(0)
    for k in range(24):
        damaged = bytearray(made.stdout)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        if k % 4 == 0:
            damaged = damaged[: rng.integers(len(damaged))]
        file = tmp_path / f"damaged{k}.bc"
        file.write_bytes(damaged)
        target = ("cpu", "emu:sm_80", "cuda:sm_80")[k % 3]
        try:
            kernel.compile("*fp32", "*fp32", PATH=str(file), target=target)
        except tegula.CompileError as e:
            assert "the library" in str(e) or "of a library" in str(e)


# --- several files -------------------------------------------------------------------
def test_files_that_need_each_other(tmp_path: Path) -> None:
    """What one library does not define is looked for in the others of extern_libs."""
    first, second = tmp_path / "first.ll", tmp_path / "second.ll"
    first.write_text(
        body(
            "%y = call float @twice(float %x)\n%g = load float, ptr @shift\n"
            "%z = fadd float %y, %g\nret float %z",
            "declare float @twice(float)\n@shift = external global float\n"
            "define internal float @hidden(float %x) {\nret float 0.0\n}",
        )
    )
    second.write_text(
        "define float @twice(float %x) {\n%y = call float @hidden(float %x)\n"
        "ret float %y\n}\n@shift = constant float 3.0\n"
        "define float @hidden(float %x) {\n%y = fmul float %x, 2.0\nret float %y\n}\n"
    )
    libs = {"one": str(second), "mine": str(first)}
    x = np.linspace(-4, 4, 128, dtype=np.float32)
    with tegula.knobs.runtime.scope():
        for target, interpret in (("cpu", False), ("cpu", True)):
            tegula.knobs.runtime.target = target
            tegula.knobs.runtime.interpret = interpret
            out = np.zeros_like(x)
            kernel[(1,)](x, out, PATH="", extern_libs=libs)
            np.testing.assert_array_equal(out, 2 * x + 3)
    ptx = compiled(kernel, "*fp32", "*fp32", PATH="", extern_libs=libs).asm["ptx"]
    assert "call" not in ptx and ".func" not in ptx


def test_found_under_any_name(on_hosts: str) -> None:
    """extern_libs need not name the library as the call does."""
    x = np.linspace(-4, 4, 128, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, PATH="", extern_libs={"another": on_hosts})
    want = 2 * x + np.where(np.arange(128) % 2, np.float32(5), np.float32(3))
    np.testing.assert_array_equal(out, want)
