"""The kernels of benchmarks/survey.py on small arrays: the CPU's code beside the interpreter,
and PTX for the chip they are about. A survey that runs only where a GPU is would rot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tegula

torch = pytest.importorskip("torch")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import survey  # noqa: E402
import survey_kernels  # noqa: E402

POINTEES = {
    torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32",
    torch.float8_e4m3fn: "fp8e4nv", torch.int8: "i8", torch.int32: "i32",
}  # fmt: skip


def type_of(x: object) -> str:
    if isinstance(x, torch.Tensor):
        return f"*{POINTEES[x.dtype]}:16"
    return "fp32" if isinstance(x, float) else "i32:16" if x % 16 == 0 else "i32"


@pytest.mark.parametrize("name", survey.MAKERS)
def test_small(name: str) -> None:
    for case in survey.MAKERS[name](survey.Arrays("cpu", True)):
        config = case.configs[-1]
        got = [x.clone() for x in case.run(tegula.jit(case.kernel), config)]
        want = case.run(tegula.jit(case.kernel, interpret=True), config)
        assert survey.difference(got, want) <= 2e-2, case.name


@pytest.mark.parametrize("name", survey.MAKERS)
def test_ptx(name: str) -> None:
    case = next(survey.MAKERS[name](survey.Arrays("cpu", True)))
    types = [type_of(x) for x in case.args]
    for config in case.configs:
        compiled = tegula.jit(case.kernel).compile(
            *types, **config, target="cuda:sm_90a"
        )
        assert "mma" in compiled.asm["ptx"]


def test_no_kernel_is_left_out() -> None:
    kernels = {v for k, v in vars(survey_kernels).items() if k.endswith("_kernel")}
    used = {case.kernel for case in survey.cases("cpu", True)}
    assert kernels == used
