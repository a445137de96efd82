"""PTX: every chip's assembler takes what we write, and the code is what was meant."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import tirgen

TIRC = Path(__file__).parents[2] / "build" / "tirc"
CHIPS = ["75", "80", "86", "89", "90a", "100a", "120a"]


def ptx(text: str, chip: str, warps: int = 4) -> str:
    args = [str(TIRC), "-t", f"cuda:{chip}", "-w", str(warps), "tile,simt,ptx", "-"]
    done = subprocess.run(args, input=text, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{text}\n{' '.join(args)}\n{done.stderr}"
    return done.stdout


def assemble(code: str, chip: str, tmp_path: Path) -> str:
    """What ptxas says; fails the test on errors, warnings and stack frames."""
    ptxas = shutil.which("ptxas")
    if not ptxas:
        pytest.skip("no ptxas")
    path = tmp_path / "a.ptx"
    path.write_text(code, encoding="utf-8")
    args = [ptxas, f"-arch=sm_{chip}", "-v", str(path), "-o", str(tmp_path / "a.cubin")]
    done = subprocess.run(args, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    assert "warning" not in done.stderr and "C75" not in done.stderr, done.stderr
    assert " 0 bytes stack frame" in done.stderr, done.stderr
    return done.stderr


def kernels() -> dict[str, str]:
    made = {
        "reduce": tirgen.reduction("f32", [64, 32], 1, "argmax"),
        "reduce16": tirgen.reduction("bf16", [4096], 0, "add"),
        "scan": tirgen.scan("i64", [1024], 0, True, "affine"),
        "gather": tirgen.gather("i1", [64], [128], 0),
        "histogram": tirgen.histogram("u8", 1024, 128, True),
        "transpose": tirgen.transpose("f16", [64, 64], (1, 0)),
        "join": tirgen.join_and_split("i8", [64]),
        "narrow": tirgen.dot("f16", "f32", (8, 4, 4)),
    }
    for elem, acc in (("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"),
                      ("f8e4m3", "f32"), ("f8e5m2", "f32"), ("f64", "f64")):  # fmt: skip
        made[f"dot_{elem}"] = tirgen.dot(elem, acc, (64, 32, 32), "tf32x3")
    for elem, rmw in (("f32", "max"), ("f64", "min"), ("f16", "add"), ("bf16", "add"),
                      ("u64", "max"), ("i32", "xchg"), ("f16", "max"),
                      ("bf16", "min")):  # fmt: skip
        made[f"atomic_{elem}_{rmw}"] = tirgen.atomic(elem, 64, 64, rmw)
    for op in ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf", "sqrt", "sqrt_rn",
               "rsqrt", "floor", "ceil"):  # fmt: skip
        for elem in ("f32", "f64"):
            made[f"{op}_{elem}"] = tirgen.elementwise(op, elem, 1)
    floats = [
        "f16",
        "bf16",
        "f32",
        "f64",
        "f8e4m3",
        "f8e5m2",
        "f8e4b15",
        "f8e4b8",
        "f8e5b16",
    ]
    for elem in floats:
        for op in ("add", "div", "rem", "min", "maxnan"):
            made[f"{op}_{elem}"] = tirgen.elementwise(op, elem, 2)
        for to in floats:
            if to != elem:
                made[f"{elem}_to_{to}"] = tirgen.elementwise("cast", elem, 1, to)
    return made


KERNELS = kernels()


@pytest.mark.parametrize("chip", CHIPS)
def test_every_chip_assembles(chip: str, tmp_path: Path) -> None:
    """One module of all kernels: the assembler's start costs more than a kernel."""
    parts = []
    for name, text in KERNELS.items():
        code = ptx(text.replace("@k(", f"@{name}("), chip)
        for data in re.findall(r"^[^;{]*\.(?:global|shared) [^;]*?(\w+)\[", code, re.M):
            code = re.sub(rf"\b{data}\b", f"{data}_{name}", code)
        for func in set(re.findall(r"^\.func .*?(\w+)\($", code, re.M)):
            code = re.sub(rf"\b{func}\b", f"{func}_{name}", code)
        parts.append(code)
    body = "\n".join(
        re.sub(r"^\.(version|target|address_size).*$", "", p, flags=re.M) for p in parts
    )
    head = "\n".join(
        re.findall(r"^\.(?:version|target|address_size).*$", parts[0], re.M)
    )
    assemble(f"{head}\n{body}", chip, tmp_path)


ADD = """
func @f(%x: ptr<f32> {div16}, %y: ptr<f32> {div16}, %o: ptr<f32> {div16}, %n: i32 {div16}) {
  %pid = program_id {axis=0} : i32
  %b = const 1024 : i32
  %s = mul %pid, %b : i32
  %r = arange {start=0, end=1024} : i32[1024]
  %sb = splat %s : i32[1024]
  %i = add %sb, %r : i32[1024]
  %nb = splat %n : i32[1024]
  %m = lt %i, %nb : i1[1024]
  %xb = splat %x : ptr<f32>[1024]
  %xp = addptr %xb, %i : ptr<f32>[1024]
  %xv = load %xp, %m : f32[1024]
  %yb = splat %y : ptr<f32>[1024]
  %yp = addptr %yb, %i : ptr<f32>[1024]
  %yv = load %yp, %m : f32[1024]
  %z = add %xv, %yv : f32[1024]
  %ob = splat %o : ptr<f32>[1024]
  %op = addptr %ob, %i : ptr<f32>[1024]
  store %op, %z, %m
  return
}
"""

SOFTMAX = """
func @f(%x: ptr<bf16> {div16}, %o: ptr<bf16> {div16}, %s: i32 {div16}, %n: i32 {div16}) {
  %row = program_id {axis=0} : i32
  %at = mul %row, %s : i32
  %px = addptr %x, %at : ptr<bf16>
  %po = addptr %o, %at : ptr<bf16>
  %r = arange {start=0, end=4096} : i32[4096]
  %nb = splat %n : i32[4096]
  %m = lt %r, %nb : i1[4096]
  %xb = splat %px : ptr<bf16>[4096]
  %xp = addptr %xb, %r : ptr<bf16>[4096]
  %low = const splat(-inf) : bf16[4096]
  %v = load %xp, %m, %low : bf16[4096]
  %f = cast %v : f32[4096]
  %max = reduce %f {axis=0} : f32 ^(%a: f32, %b: f32) {
    %c = max %a, %b : f32
    yield %c
  }
  %mb = splat %max : f32[4096]
  %d = sub %f, %mb : f32[4096]
  %e = exp %d : f32[4096]
  %sum = reduce %e {axis=0} : f32 ^(%a2: f32, %b2: f32) {
    %c2 = add %a2, %b2 : f32
    yield %c2
  }
  %sb = splat %sum : f32[4096]
  %q = div %e, %sb : f32[4096]
  %qb = cast %q : bf16[4096]
  %ob = splat %po : ptr<bf16>[4096]
  %op = addptr %ob, %r : ptr<bf16>[4096]
  store %op, %qb, %m
  return
}
"""


def test_add_moves_16_bytes_at_a_time(tmp_path: Path) -> None:
    code = ptx(ADD, "90a")
    assert len(re.findall(r"ld\.global\.v4\.b32", code)) == 4
    assert len(re.findall(r"st\.global\.v4\.b32", code)) == 2
    assert "ld.global.b32" not in code and ".local" not in code
    assert " 0 bytes spill stores" in assemble(code, "90a", tmp_path)


def test_softmax_has_two_barriers_and_reads_once(tmp_path: Path) -> None:
    code = ptx(SOFTMAX, "90a", warps=8)
    assert code.count("bar.sync") == 2
    assert len(re.findall(r"ld\.global\.v4\.b32", code)) == 2
    assert len(re.findall(r"cvt\.rn\.bf16x2\.f32", code)) == 8
    assert "div.full.f32" in code and "div.rn" not in code and ".local" not in code
    assert " 0 bytes spill stores" in assemble(code, "90a", tmp_path)


def test_tensor_cores_are_used() -> None:
    code = ptx(tirgen.dot("f16", "f32", (64, 64, 32), transposed=True), "80")
    assert code.count("mma.sync.aligned.m16n8k16") == 16
    assert "ldmatrix.sync.aligned.m8n8.x4" in code
    assert "mma.sync" not in ptx(tirgen.dot("bf16", "f32", (64, 64, 32)), "75")


def test_unknown_chip_is_an_error_of_ours() -> None:
    done = subprocess.run(
        [str(TIRC), "-t", "cuda:42", "tile,simt,ptx", "-"],
        input=ADD, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 1 and "sm_42" in done.stderr
