"""What people are shown first: the demo, the README's code, compile times."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tegula import demo

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("one", list(demo.demos(is_gpu=False)), ids=lambda d: d.title)
def test_demo(one):
    _, _, error = demo.run(one, "cpu", None)
    assert error <= one.bound


def child(*args: str, **kwargs: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **kwargs}
    done = subprocess.run(
        [sys.executable, *args], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readme(tmp_path):
    """The first kernel runs; so does what follows, with torch's tensors in the middle."""
    first, ops, last = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    text = first + "assert abs(y.sum(1) - 1).max() < 1e-4\n"
    try:
        import torch  # noqa: F401
    except ImportError:
        pass
    else:
        text += ops + "assert w.grad.abs().max() > 0\n"
    script = tmp_path / "readme.py"
    script.write_text(text + last)
    said = child(str(script))
    assert "func @softmax" in said and ".visible .entry" in said


def test_compile_times():
    said = child(str(ROOT / "benchmarks/compile.py"), "--samples", "1")
    assert len(re.findall(r"^(?:cpu|cuda:sm_\w+) .* \d+\.\d\d ", said, re.M)) == 12
    assert "import tegula:" in said


@pytest.mark.one_in(4)
def test_torch_compile():
    pytest.importorskip("torch")
    said = child(
        str(ROOT / "benchmarks/torch_compile.py"), "--device", "cpu", "softmax"
    )
    assert re.search(r"^softmax +\d+\.\d+ +\d+\.\d+ +\d+\.\d+$", said, re.M), said


def test_dumps(tmp_path):
    """Every stage of a kernel as a file, also when the kernel is on disk already."""
    code = (
        "import numpy as np; from tegula.demo import softmax\n"
        "x = np.ones((4, 100), 'f4')\n"
        "softmax[(4,)](x, x.copy(), 100, BLOCK=128)\n"
    )
    (tmp_path / "readme.py").write_text(code)
    for attempt, target in enumerate(("cpu", "cpu", "emu:sm_80")):
        dumps = tmp_path / str(attempt)
        child(
            str(tmp_path / "readme.py"),
            TEGULA_TARGET=target,
            TEGULA_DUMP_DIR=str(dumps),
            TEGULA_CACHE_DIR=str(tmp_path / "cache"),
        )
        names = sorted(p.name for p in (dumps / "softmax").iterdir())
        assert names[0] == "00-frontend.tir"
        assert any(n.endswith("-emit.ll") for n in names)
        assert any("assign_layouts" in n for n in names) == target.startswith("emu")
