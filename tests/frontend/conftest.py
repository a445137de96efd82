"""Kernels of these tests run in the interpreter of tile IR first, with no pass and no code
generator between, and then on every target."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula

sys.path.append(str(Path(__file__).parents[1] / "ptxsim"))

import simulated

TIRC = Path(__file__).parents[2] / "build" / "tirc"
SIG = {
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "bool": "i1",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}


def _word(x: Any) -> str:
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, (float, np.floating)):
        return repr(float(x))
    return str(int(x))


def _number(s: str, dtype: np.dtype) -> Any:
    if s in ("true", "false"):
        return s == "true"
    if s.startswith("0x") and dtype.kind == "f":
        return np.array(int(s, 16), f"u{dtype.itemsize}").view(dtype)
    return dtype.type(float(s) if dtype.kind == "f" else int(s))


def interpret(kernel: Any, *args: Any, grid: int = 1, **constants: Any) -> None:
    """Run kernel on arrays (changed in place) and scalars, as a launch would."""
    signature, lines = [], [f"// GRID: {grid}"]
    for a in args:
        if isinstance(a, np.ndarray):
            signature.append("*" + SIG[a.dtype.name])
            lines.append(f"// ARG: [{', '.join(map(_word, a.ravel()))}]")
        elif isinstance(a, bool):
            signature.append("i1")
            lines.append(f"// ARG: {_word(a)}")
        elif isinstance(a, int):
            wide = not -(2**31) <= a < 2**31
            signature.append(("i64" if wide else "i32") + (":1" if a == 1 else ""))
            lines.append(f"// ARG: {a}")
        else:
            signature.append("fp32")
            lines.append(f"// ARG: {a}")
    text = kernel.lower(*signature, **constants)
    run = subprocess.run(
        [TIRC, "interp", "-"],
        input="\n".join(lines) + "\n" + text,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr + text
    at = 0
    found = [line for line in run.stdout.splitlines() if line.startswith("// ARG ")]
    for a in args:
        if isinstance(a, np.ndarray):
            words = found[at].split("[", 1)[1].rsplit("]", 1)[0].split(", ")
            flat: list[Any] = []
            for w in words:
                value, _, times = w.partition(" x ")
                flat += [_number(value, a.dtype)] * int(times or 1)
            a.ravel()[:] = np.array(flat, a.dtype)
            at += 1


def launch(kernel: Any, *args: Any, grid: int = 1, **constants: Any) -> None:
    """The same through the compiler, on tegula.knobs.runtime.target."""
    if tegula.knobs.runtime.target is None:
        import torch

        there = [
            torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in args
        ]
        kernel[(grid,)](*there, **constants)
        for a, t in zip(args, there, strict=True):
            if isinstance(a, np.ndarray):
                a[...] = t.cpu().numpy()
    else:
        kernel[(grid,)](*args, **constants)


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.fixture(
    params=["interp", "cpu", "emu:sm_80", "emu:sm_90a", "ptxsim:sm_90a", "cuda"]
)
def run(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "interp":
        if not TIRC.exists():
            pytest.fail("build/tirc is missing: make tirc")
        yield interpret
        return
    if request.param.startswith("ptxsim"):
        if not simulated.available():
            pytest.skip("no build/libptxsim.so")
        with simulated.driver():
            yield simulated.launcher(request.param.removeprefix("ptxsim:"))
        return
    if request.param == "cuda" and not _has_gpu():
        pytest.skip("no GPU")
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = None if request.param == "cuda" else request.param
        yield launch
