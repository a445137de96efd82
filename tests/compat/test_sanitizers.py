"""Triton's sanitizers: the emulator's checks by their names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tegula

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
    out = run("-m", "tegula.tools.gsan", str(script))
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
        ("", "None"),
    ):
        out = run("-c", text, TRITON_INSTRUMENTATION_MODE=mode)
        assert out.stdout.strip() == target, (mode, out)
    out = run("-c", text, TRITON_INSTRUMENTATION_MODE="fpsan")
    assert out.returncode and "fpsan" in out.stderr
