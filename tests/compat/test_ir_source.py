"""triton.compile("kernel.ptx"): a variant from a file of one of our stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.compat.backends import GPUTarget
from tegula.compat.compiler import IRSource

HOPPER = GPUTarget("cuda", 90, 32)


@tegula.jit
def scale(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0 + 1.0, mask=i < n)


def variant(target: str = "cuda:sm_90a", **options: Any) -> Any:
    return scale.compile("*fp32", "*fp32", "i32", B=64, target=target, **options)


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80"])
@pytest.mark.parametrize("stage", ["tir", "simt"])
def test_tile_ir_runs(tmp_path: Path, target: str, stage: str) -> None:
    asm = variant(target).asm
    if stage not in asm:
        pytest.skip(f"no {stage} on {target}")
    path = tmp_path / f"k.{stage}"
    path.write_text(asm[stage].replace("splat(2.0)", "splat(4.0)"))
    compiled = tegula.compile(str(path), target)
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    compiled[(2, 1, 1)](x, y, 100)
    assert compiled.name == "scale" and y[:3].tolist() == [1, 5, 9] and y[99] == 397
    with pytest.raises((TypeError, ValueError)):
        compiled[(2, 1, 1)](x, y)


@pytest.mark.parametrize("stage", ["tir", "simt", "llir", "ptx"])
def test_the_same_code(tmp_path: Path, stage: str) -> None:
    asm = variant(num_warps=8).asm
    path = tmp_path / f"k.{stage}"
    path.write_text(asm[stage])
    source = IRSource(str(path))
    pointer = "*fp32" if stage in ("tir", "simt") else "*u8"
    number = "u32" if stage == "ptx" else "i32"
    assert source.signature == {0: pointer, 1: pointer, 2: number}
    assert (source.name, source.ext, len(source.hash())) == ("scale", stage, 64)
    assert source.parse_options() == ({"num_warps": 8} if stage == "ptx" else {})
    compiled = tegula.compile(
        path, HOPPER, None if stage == "ptx" else {"num_warps": 8}
    )
    assert compiled.asm["ptx"] == asm["ptx"] and compiled.metadata.num_warps == 8


def test_all_types(tmp_path: Path) -> None:
    @tegula.jit
    def kernel(a: tl.const, b, c, d, e, f, g):
        tl.store(b, tl.load(a).to(tl.float32) + c + d + e + f + g)

    asm = kernel.compile(
        "*kfp16", "*fp32", "i64", "fp32", "fp64", "u8", "i16", target="cuda:sm_90a"
    ).asm
    path = tmp_path / "k.tir"
    path.write_text(asm["tir"])
    types = list(IRSource(str(path)).signature.values())
    assert types == ["*kfp16", "*fp32", "i64", "fp32", "fp64", "u8", "i16"]
    assert tegula.compile(path, HOPPER).asm["ptx"] == asm["ptx"]
    (tmp_path / "k.ptx").write_text(asm["ptx"])
    types = list(IRSource(str(tmp_path / "k.ptx")).signature.values())
    assert types[:5] == ["*u8", "*u8", "u64", "fp32", "fp64"]


def test_files_that_are_no_source(tmp_path: Path) -> None:
    def error(name: str, text: str = "") -> str:
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(ValueError) as e:
            tegula.compile(str(path), "cpu")
        assert str(path) in str(e.value)
        return str(e.value)

    assert "this is MLIR" in error("k.ttir") and "MLIR" in error("k.ttgir")
    assert ".tir, .simt, .llir, .ll, .ptx" in error("k.cubin")
    assert "no kernel in it" in error("k.tir", "// nothing")
    assert "no kernel in it" in error("k.ll", variant("cpu").asm["llir"])
    assert "parameters of k cannot be read" in error("k.ptx", ".entry k(.u32 a)")
    with pytest.raises(FileNotFoundError):
        tegula.compile("/nowhere/k.tir", "cpu")
    path = tmp_path / "bad.tir"
    path.write_text("func @k(%x: ptr<f32>) {\n  %y = loadd %x : f32\n  return\n}\n")
    with pytest.raises(
        tegula.CompileError, match=r"bad\.tir:2:8: .* unknown op 'loadd'"
    ):
        tegula.compile(str(path), "cpu")


def test_on_a_gpu(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    x = torch.arange(100, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    asm = scale[(2,)](x, y, 100, B=64).asm
    for stage in ("tir", "llir", "ptx"):
        path = tmp_path / f"k.{stage}"
        path.write_text(asm[stage])
        y.zero_()
        tegula.compile(str(path))[(2, 1, 1)](x, y, 100)
        assert torch.equal(y, 2 * x + 1), stage
