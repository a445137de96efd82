"""ir_override, ptx_version, ptx_options and the other options that are texts."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import errors, knobs, toolchain
from tegula.compiled import tool

HOPPER = "cuda:sm_90a"


@tegula.jit
def scale(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0 + 1.0, mask=i < n)


def launch(**options: Any) -> tuple[list[float], Any]:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    compiled = scale[(2,)](x, y, 100, B=64, **options)
    return y[:3].tolist(), compiled


def for_gpu(target: str = HOPPER, **options: Any) -> Any:
    return scale.compile("*fp32", "*fp32", "i32", B=64, target=target, **options)


def has_ptxas() -> bool:
    return bool(toolchain.find_ptxas() or tool("ptxas"))


needs_ptxas = pytest.mark.skipif(not has_ptxas(), reason="no ptxas")
LLIR = ("2.000000e+00", "3.000000e+00")


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(name: str, text: str | bytes, old: str = "", new: str = "") -> str:
        path = tmp_path / name
        if isinstance(text, str):
            assert old in text
            path.write_text(text.replace(old, new) if old else text)
        else:
            path.write_bytes(text)
        return str(path)

    return write


# --- files in the place of stages --------------------------------------------------------
@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "emu:sm_90a"])
@pytest.mark.parametrize(
    "name, stage, old, new",
    [
        ("k.tir", "tir", "splat(2.0)", "splat(3.0)"),
        ("k.simt", "simt", "splat(2.0)", "splat(3.0)"),
        ("k.llir", "llir", *LLIR),
        ("k.ll", "llir", *LLIR),
    ],
)
def test_what_runs(file: Any, target: str, name: str, stage: str, old: str, new: str):
    with knobs.runtime.scope() as group:
        group.target = target
        values, compiled = launch()
        assert values == [1, 3, 5]
        if stage not in compiled.asm:
            pytest.skip(f"no {stage} on {target}")
        path = file(name, compiled.asm[stage], old, new)
        values, changed = launch(ir_override=path)
        assert values == [1, 4, 7]
        assert new in changed.asm[stage] and old not in changed.asm[stage]
        assert launch(ir_override=Path(path))[1] is changed
        assert launch()[0] == [1, 3, 5]


def test_the_interpreter(file: Any) -> None:
    path = file("k.tir", launch()[1].asm["tir"], "splat(2.0)", "splat(3.0)")
    with knobs.runtime.scope() as group:
        group.interpret = True
        assert launch(ir_override=path)[0] == [1, 4, 7]
        x, y = np.zeros(70, np.float32), np.zeros(100, np.float32)
        with pytest.raises(errors.OutOfBoundsError, match=r"in program \(1, 0, 0\)"):
            scale[(2,)](x, y, 100, B=64, ir_override=path)
        other = file("k.ll", "")
        with pytest.raises(tegula.CompileError, match="not supported on the interp"):
            launch(ir_override=other)


def test_stages_behind_are_made_anew(file: Any) -> None:
    asm = for_gpu().asm
    for stage, old, new in (
        ("tir", "splat(2.0)", "splat(3.0)"),
        ("simt", "splat(2.0)", "splat(3.0)"),
        ("llir", *LLIR),
        ("ptx", "0f40000000", "0f40400000"),
    ):
        changed = for_gpu(ir_override=file(f"k.{stage}", asm[stage], old, new))
        assert "0f40400000" in changed.asm["ptx"]
        assert "0f40000000" not in changed.asm["ptx"]
        if has_ptxas():
            assert changed.asm["cubin"] != asm["cubin"]
            assert changed.n_regs > 0


@needs_ptxas
def test_machine_code(file: Any) -> None:
    asm = for_gpu().asm
    changed = for_gpu(num_warps=8, ir_override=file("k.cubin", asm["cubin"]))
    assert changed.asm["cubin"] == asm["cubin"]
    assert "reqntid 256" in changed.asm["ptx"]


@needs_ptxas
def test_an_entry_of_another_name(file: Any) -> None:
    path = file("k.ptx", for_gpu().asm["ptx"], " scale(", " other(")
    assert "other" in for_gpu(ir_override=path).asm["ptx"]


def test_in_a_config(file: Any) -> None:
    path = file("k.tir", launch()[1].asm["tir"], "splat(2.0)", "splat(3.0)")
    tuned = tegula.autotune([tegula.Config({"B": 64}, ir_override=path)], key=[])(scale)
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    tuned[(2,)](x, y, 100)
    assert y[1] == 4


# --- files that are wrong ----------------------------------------------------------------
def error(kind: type[BaseException], **options: Any) -> str:
    with pytest.raises(kind) as e:
        for_gpu(**options) if options.pop("gpu", False) else launch(**options)
    return str(e.value)


@pytest.mark.parametrize(
    "old, new, at, words",
    [
        ("= mul ", "= mull ", "= mull ", "unknown op 'mull'"),
        (
            "i32[64]",
            "i32[32]",
            "arange",
            "arange: result 0 is i32[32], expected i32[64]",
        ),
        ("return", "", "store", "store does not end a block"),
        ("%x: ptr<f32>", "%x: ptr<f64>", "splat %x", "from ptr<f64> to ptr<f32>"),
        ("%n: i32", "%n: i33", "func", "unknown type 'i33'"),
    ],
)
def test_the_line_of_tile_ir(file: Any, old: str, new: str, at: str, words: str):
    text = launch()[1].asm["tir"]
    assert old in text
    text = text.replace(old, new, 1)
    line = text[: text.index(at)].count("\n") + 1
    path = file("bad.tir", text)
    with pytest.raises(tegula.CompileError) as e:
        launch(ir_override=path)
    assert words in str(e.value) and e.value.filename == path
    assert e.value.lineno == line


def test_another_signature(file: Any) -> None:
    tir = launch()[1].asm["tir"]
    text = "func @k(%x: ptr<f32>) {\n  return\n}\n"
    said = error(tegula.CompileError, ir_override=file("k.tir", text))
    assert "k.tir:1:1" in said and "1 parameters, where the kernel has 3" in said
    text = "func @k(%x: ptr<f32>, %y: ptr<f32>, %n: i64) {\n  return\n}\n"
    said = error(tegula.CompileError, ir_override=file("k.tir", text))
    assert "parameter 2 is i64, and the kernel's is i32" in said
    claims = tir.replace("{div16}", "{div16}").replace("%n: i32 {", "%n: i32 {div16, ")
    assert launch(ir_override=file("claims.tir", claims))[0] == [1, 3, 5]


@pytest.mark.parametrize(
    "target, stage", [("cpu", "tir"), ("emu:sm_80", "simt"), (HOPPER, "simt")]
)
def test_changed_anyhow(file: Any, target: str, stage: str) -> None:
    """A word, a line, a number of another place: a kernel, or an error of the file."""
    rnd = random.Random(f"{target} {stage}")
    text = for_gpu(target).asm[stage]
    words = re.findall(r"[%#]?\w+", text)
    wrong = 0
    with knobs.nvidia.scope() as group:
        group.ptxas = "none"
        for _ in range(100):
            lines = text.split("\n")
            at, to = rnd.randrange(len(lines)), rnd.randrange(len(lines))
            if rnd.random() < 0.3:
                lines[at], lines[to] = lines[to], lines[at]
            elif found := list(re.finditer(r"[%#]?\w+", lines[at])):
                m = rnd.choice(found)
                alike = [w for w in words if w[0] == m[0][0]] or words
                new = lines[at][: m.start()] + rnd.choice(alike) + lines[at][m.end() :]
                lines[at] = new
            path = file(f"k.{stage}", "\n".join(lines))
            scale._forget()
            try:
                for_gpu(target, ir_override=path)
            except tegula.errors.InternalError:
                raise
            except tegula.CompileError as e:
                assert e.filename in (path, None), e
                wrong += 1
    scale._forget()
    assert 20 < wrong < 100


def scratch(ptx: str, n: int, width: str = "u64", uses: str = "") -> str:
    """The kernel with n more parameters behind its own, as Triton's PTX has them."""
    more = "".join(f",\n\t.param .{width} .ptr .global .align 1 {x}" for x in "abc"[:n])
    head, _, body = ptx.partition("\n)")
    if uses:
        body = body.replace("ret;", f"ld.param.u64 %rd1, [{uses}]; ret;")
    return f"{head}{more}\n){body}"


def test_other_texts(file: Any) -> None:
    llir = launch()[1].asm["llir"]
    bad = file("k.ll", llir, "ret void", "rett void")
    said = error(tegula.CompileError, ir_override=bad)
    assert f"{bad}:" in said and "expected instruction opcode" in said
    text = "define void @f() {\n  ret void\n}\n"
    said = error(tegula.CompileError, ir_override=file("f.ll", text))
    assert "no function @tegula_scale" in said
    text = text.replace("@f", "@tegula_scale")
    said = error(tegula.CompileError, ir_override=file("g.ll", text))
    assert "is void (), and the kernel's is void (ptr, ptr, ptr, ptr)" in said
    said = error(tegula.CompileError, ir_override=file("e.bc", b"\x00" * 9))
    assert "e.bc" in said
    ptx = for_gpu().asm["ptx"]
    for path, words in (
        (file("n.ptx", "// nothing"), "no .entry"),
        (file("p.ptx", ".entry scale(.param .u64 a)"), "has 1 parameters, and the"),
        (file("s.ptx", scratch(ptx, 3)), "has 6 parameters, and the kernel's 3"),
        (file("w.ptx", scratch(ptx, 1, "u32")), "has 4 parameters, and the"),
        (file("u.ptx", scratch(ptx, 2, uses="b")), "the entry scale reads b behind"),
        (file("two.ptx", ptx.replace(" scale(", " a(") + ".entry b()"), "its 2 ent"),
    ):
        assert words in error(tegula.CompileError, gpu=True, ir_override=path)
    if has_ptxas():
        path = file("r.ptx", ptx, "ret;", "rett;")
        said = error(tegula.PTXASError, gpu=True, ir_override=path)
        assert path in said and "rett" in said


def test_files_that_replace_nothing(file: Any) -> None:
    said = error(ValueError, ir_override=file("k.ttir", "module {}"))
    assert "this is MLIR" in said and '.asm["tir"]' in said and "*.tir" in said
    assert '.asm["simt"]' in error(ValueError, ir_override=file("k.ttgir", ""))
    for name in ("k.ptx", "k.simt", "k.cubin", "k", "k.txt"):
        assert ".tir, .llir, .ll, .bc do" in error(
            ValueError, ir_override=file(name, "")
        )
    assert ".ptx, .cubin do" in error(ValueError, gpu=True, ir_override=file("a.b", ""))
    assert "No such file" in error(FileNotFoundError, ir_override="/nowhere/k.tir")
    folder = Path(file("k", "")).with_name("folder.ll")
    folder.mkdir()
    assert "Is a directory" in error(IsADirectoryError, ir_override=folder)
    assert "name of a file" in error(TypeError, ir_override=3)
    assert "no tab" in error(ValueError, ir_override="a\tb.tir")


def test_it_is_not_kept(file: Any, tmp_path: Path) -> None:
    path = file("k.tir", launch()[1].asm["tir"], "splat(2.0)", "splat(3.0)")
    with knobs.cache.scope() as group:
        group.dir = str(tmp_path / "cache")
        scale._forget()
        assert launch(ir_override=path)[0] == [1, 4, 7]
        Path(path).write_text(Path(path).read_text().replace("3.0", "5.0"))
        scale._forget()
        values, compiled = launch(ir_override=path)
        assert values == [1, 6, 11] and not compiled.metadata.from_disk


# --- a directory of them -----------------------------------------------------------------
PROGRAM = """
import numpy as np, tegula, tegula.language as tl

@tegula.jit
def scale(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0 + 1.0, mask=i < n)

x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
scale[(2,)](x, y, 100, B=64)
print(y[:3].tolist())
"""


def test_dump_change_override(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(**env: str) -> str:
        env = {
            "TRITON_DUMP_DIR": f"{tmp_path}/d",
            "TRITON_OVERRIDE_DIR": f"{tmp_path}/o",
        } | env
        env |= {"TEGULA_CACHE_DIR": f"{tmp_path}/c", "TEGULA_TARGET": "cpu"}
        return subprocess.run(
            [sys.executable, str(program)],
            env=os.environ | env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert run(TRITON_KERNEL_DUMP="1") == "[1.0, 3.0, 5.0]\n"
    (dumped,) = (tmp_path / "d").glob("*/scale.tir")
    (tmp_path / "o" / dumped.parent.name).mkdir(parents=True)
    assert dumped.with_name("scale.llir").exists()
    ours = tmp_path / "o" / dumped.parent.name / "scale.tir"
    ours.write_text(dumped.read_text().replace("splat(2.0)", "splat(3.0)"))
    assert run() == "[1.0, 3.0, 5.0]\n"
    said = run(TRITON_KERNEL_OVERRIDE="1")
    assert f"Overriding kernel with file {ours}" in said and "[1.0, 4.0, 7.0]" in said
    assert run() == "[1.0, 3.0, 5.0]\n"  # nothing of it is kept


# --- PTX ---------------------------------------------------------------------------------
def test_ptx_version() -> None:
    assert ".version 8.4\n" in for_gpu(ptx_version=84).asm["ptx"]
    assert ".version 7.0\n" in for_gpu("cuda:sm_80", ptx_version=70).asm["ptx"]
    assert for_gpu(ptx_version=None) is for_gpu()
    said = error(tegula.PTXASError, gpu=True, ptx_version=70)
    assert "for sm_90 is of version 80 or newer" in said
    assert "integer" in error(TypeError, ptx_version="84")
    if has_ptxas():
        assert "9.9" in error(tegula.PTXASError, gpu=True, ptx_version=99)


@needs_ptxas
def test_ptx_options() -> None:
    plain = for_gpu()
    slow = for_gpu(ptx_options="-O0")
    assert slow.asm["ptx"] == plain.asm["ptx"]
    assert slow.asm["cubin"] != plain.asm["cubin"]
    assert for_gpu(ptx_options="-O0") is slow
    assert "'--bogus'" in error(tegula.PTXASError, gpu=True, ptx_options="--bogus")
    assert "a str" in error(TypeError, ptx_options=["-O1"])
    with knobs.nvidia.scope() as group:
        group.ptxas_options = "-O0"
        scale._forget()
        assert for_gpu().asm["cubin"] == slow.asm["cubin"]
        group.ptxas_options = None
        group.disable_ptxas_opt = True
        scale._forget()
        assert for_gpu().asm["cubin"] == slow.asm["cubin"]


def test_no_assembler() -> None:
    with knobs.nvidia.scope() as group:
        group.ptxas = "none"
        scale._forget()
        said = error(tegula.CompileError, gpu=True, ptx_options="-O1")
        assert "there is no ptxas" in said
    scale._forget()


@needs_ptxas
def test_what_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with knobs.nvidia.scope() as group:
        group.dump_nvptx = group.dump_ptxas_log = True
        scale._forget()
        for_gpu()
    said = capfd.readouterr().out
    assert ".entry scale(" in said and "registers" in said
    scale._forget()


# --- the other texts ---------------------------------------------------------------------
@tegula.jit
def through_f8(x, y):
    i = tl.arange(0, 16)
    tl.store(y + i, tl.load(x + i).to(tl.float8e4nv).to(tl.float32))


@tegula.jit
def square(x, P: tl.constexpr):
    p = x + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(p, tl.dot(tl.load(p), tl.load(p), input_precision=P))


@tegula.jit
def square_f8(x):
    p = x + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    v = tl.load(p).to(tl.float8e5)
    tl.store(p, tl.dot(v, v))


def test_types_and_precisions_of_a_launch() -> None:
    x, y = np.ones(16, np.float32), np.zeros(16, np.float32)
    with pytest.raises(tegula.CompileError, match="float8e4nv is not among") as e:
        through_f8[(1,)](x, y, supported_fp8_dtypes=("fp8e5",))
    assert e.value.lineno
    through_f8[(1,)](x, y, supported_fp8_dtypes=["fp8e5", "fp8e4nv"])
    assert y.tolist() == [1] * 16
    eye = np.eye(16, dtype=np.float32)
    with pytest.raises(tegula.CompileError, match='"ieee" is not among the option'):
        square[(1,)](eye, "ieee", allowed_dot_input_precisions=("tf32",))
    square[(1,)](eye, "ieee", allowed_dot_input_precisions=("tf32", "ieee"))


def test_deprecated_types(recwarn: pytest.WarningsRecorder) -> None:
    x = np.eye(32, dtype=np.float32)
    square_f8[(1,)](x, deprecated_fp8_dot_operand_dtypes=("fp8e4nv",))
    assert not recwarn.list
    with pytest.warns(UserWarning, match="float8e5 is deprecated by the option"):
        square_f8[(1,)](x, deprecated_fp8_dot_operand_dtypes=("fp8e5",))


def test_unknown_options_of_a_compile_are_left_out() -> None:
    """As Triton's compile(), which is given all that a tuner chose; a launch refuses."""
    from tegula.compat.compiler import ASTSource, GPUTarget, compile

    types = {"x": "*fp32", "y": "*fp32", "n": "i32"}
    source = ASTSource(scale, types, {"B": 64})
    given = {"waves_per_eu": 2, "nothing": 3, "num_warps": 8}
    compiled = compile(source, GPUTarget("cuda", 90, 32), given)
    assert compiled.metadata.num_warps == 8


def test_options_of_amd_in_configs() -> None:
    """Triton's tutorial 03 takes AMD's configurations wherever it is not on CUDA."""
    config = tegula.Config({"B": 64, "matrix_instr_nonkdim": 16}, num_warps=8)
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    with knobs.runtime.scope() as group:
        group.target = "cpu"
        with pytest.warns(UserWarning, match="^matrix_instr_nonkdim: options of AMD's"):
            tuned = tegula.autotune([config], key=[])(scale)
        tuned[(2,)](x, y, 100)
        assert y[1] == 3 and "matrix_instr_nonkdim" in config.kwargs
        group.target = "emu:sm_80"
        tuned = tegula.autotune([config], key=[])(scale)
        with pytest.raises(KeyError, match="matrix_instr_nonkdim"):
            tuned[(2,)](x, y, 100)


FTZ = """
target triple = "nvptx64-nvidia-cuda"
@name = private constant [11 x i8] c"__CUDA_FTZ\\00"
declare i32 @__nvvm_reflect(ptr)
define float @flushes(float %x) {
  %f = call i32 @__nvvm_reflect(ptr @name)
  %r = sitofp i32 %f to float
  %s = fadd float %r, 41.0
  ret float %s
}
"""


def test_what_libraries_are_told(file: Any) -> None:
    from tegula.language import core

    @core.extern
    def flushes(x, _semantic=None):
        rows = {(core.dtype("fp32"),): ("flushes", core.dtype("fp32"))}
        return core.extern_elementwise("lib", "", [x], rows, True, _semantic=_semantic)

    @tegula.jit
    def kernel(x):
        i = tl.arange(0, 32)
        tl.store(x + i, flushes(tl.load(x + i)))

    libs = {"lib": file("lib.ll", FTZ)}
    default = kernel.compile("*fp32", target=HOPPER, extern_libs=libs)
    on = kernel.compile(
        "*fp32", target=HOPPER, extern_libs=libs, enable_reflect_ftz=True
    )
    off = kernel.compile(
        "*fp32", target=HOPPER, extern_libs=libs, enable_reflect_ftz=False
    )
    assert on is default
    assert "1109917696" in on.asm["ptx"]  # 42.0f
    assert "1109655552" in off.asm["ptx"]  # 41.0f
