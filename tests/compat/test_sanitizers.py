"""Triton's sanitizers: the emulator's checks by their names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula as triton
import tegula.language as tl
from tegula.errors import TegulaError

STRAY = """
import numpy as np, triton, triton.language as tl

@triton.jit
def k(x):
    tl.store(x + tl.arange(0, 8), 1)  # here

k[(1,)](np.zeros(16, np.int32)[:7])
print("not seen")
"""


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "TEGULA_TARGET"} | variables
    env["PYTHONPATH"] = str(Path(tegula.__file__).parents[1])
    return subprocess.run(
        [sys.executable, *command],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_gsan_names_the_line(tmp_path: Path) -> None:
    script = tmp_path / "stray.py"
    script.write_text(STRAY)
    plain = run("-m", "tegula.compat", str(script))
    assert plain.returncode == 0 and "not seen" in plain.stdout
    for command in (
        ["-m", "tegula.tools.gsan", str(script)],
        ["-m", "tegula.compat", "-m", "triton.tools.gsan", str(script)],
    ):
        out = run(*command)
        assert (
            out.returncode
            and "stray.py:6" in out.stderr
            and "thread 7 of k()" in out.stderr
        )


def test_modes_by_variable() -> None:
    text = "import tegula; print(tegula.knobs.runtime.target)"
    for mode, target in (
        ("consan", "emu:sm_90a"),
        ("gsan", "emu:sm_90a"),
        ("gsan, consan", "emu:sm_90a"),
        ("", "None"),
    ):
        out = run("-c", text, TRITON_INSTRUMENTATION_MODE=mode)
        assert out.stdout.strip() == target, (mode, out)
    for mode in ("fpsan", "gsan,fpsan"):
        out = run("-c", text, TRITON_INSTRUMENTATION_MODE=mode)
        assert out.returncode and mode in out.stderr


@triton.jit
def calm(x):
    i = tl.arange(0, 64)
    tl.store(x + i, i)


@pytest.mark.parametrize("mode", ["consan", "gsan", "consan,gsan"])
def test_modes_of_a_launch(mode: str) -> None:
    """The emulator runs this launch, and others run where they ran."""
    x = np.zeros(64, np.int32)
    compiled = calm[(1,)](x, instrumentation_mode=mode)
    assert x.tolist() == list(range(64)) and str(compiled.target) == "emu:sm_90a"
    assert str(calm[(1,)](x).target) == "cpu"
    for _ in range(2):  # on the CPU alone the first launch looks
        with pytest.raises(TegulaError, match="out of bounds"):
            calm[(1,)](x[:60], instrumentation_mode=mode)


def test_modes_that_are_not_there() -> None:
    x = np.zeros(64, np.int32)
    calm[(1,)](x, instrumentation_mode="")
    for mode in ("iisan", "fpsan", "other", "gsan,fpsan", "gsan,", "gsanconsan"):
        with pytest.raises(ValueError, match=f"{mode}.*'consan' and 'gsan'"):
            calm[(1,)](x, instrumentation_mode=mode)
    with pytest.raises(TypeError, match="a str"):
        calm[(1,)](x, instrumentation_mode=3)
    with pytest.raises(ValueError, match="GPUs is not instrumented"):
        calm.compile("*i32", target="cuda:sm_90a", instrumentation_mode="gsan")
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = True
        with pytest.raises(ValueError, match="TEGULA_INTERPRET"):
            triton.jit(calm.fn)[(1,)](x, instrumentation_mode="gsan")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sched4reg", True),
        ("clc", True),
        ("min_shared_mem", 1024),
        ("fpsan_homomorphic_casts", True),
    ],
)
def test_options_by_name(name: str, value: Any) -> None:
    x = np.zeros(64, np.int32)
    for default in (None, type(value)(0)):
        calm[(1,)](x, **{name: default})
    with pytest.raises(ValueError, match=f"option {name}={value} is not supported: "):
        calm[(1,)](x, **{name: value})
    with pytest.raises(ValueError, match=name):
        calm.compile("*i32", target="cuda:sm_90a", **{name: value})
