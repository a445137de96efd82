"""What a kernel prints goes where print() goes, in the order in which both were called."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def show(x_ptr, at):
    tl.device_print("x", tl.load(x_ptr))
    tl.store(x_ptr + at, 1.0)


@contextmanager
def on(target):
    with tegula.knobs.runtime.scope():
        if target == "interpreter":
            tegula.knobs.runtime.interpret = True
        else:
            tegula.knobs.runtime.target = target
        yield


LINE = "pid (0, 0, 0) idx () x: 0.000000\n"


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
def test_to_what_stands_for_stdout(target):
    """A notebook's cell, redirect_stdout, doctest: none of them is the process's file 1."""
    x, to = np.zeros(4, np.float32), io.StringIO()
    with on(target), redirect_stdout(to):
        for _ in range(2):  # the second is no trial any more
            print("before")
            show[(1,)](x, 1)
            print("after")
    assert to.getvalue() == f"before\n{LINE}after\n" * 2


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
def test_before_it_fails(target):
    x, to = np.zeros(4, np.float32), io.StringIO()
    with on(target), redirect_stdout(to):
        with pytest.raises(tegula.TegulaError, match="element 9"):
            tegula.jit(show.fn)[(1,)](x, 9)
    assert to.getvalue() == LINE


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
def test_to_what_cannot_be_written(target):
    closed = io.StringIO()
    closed.close()
    with on(target), redirect_stdout(closed):
        with pytest.raises(ValueError, match="closed file"):
            show[(1,)](np.zeros(4, np.float32), 1)
    with on(target), redirect_stdout(None):
        show[(1,)](np.zeros(4, np.float32), 1)


SCRIPT = """
import os
import sys

import numpy as np

import tegula
import tegula.language as tl

@tegula.jit(interpret=sys.argv[1:] == ["interpret"])
def show(x_ptr):
    tl.device_print("x", tl.load(x_ptr))
    print("y", tl.program_id(0))

for _ in range(2):
    print("before")
    show[(1,)](np.zeros(1, np.float32))
    print("after")
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
def test_to_a_pipe(target, tmp_path):
    """Python and C each keep what goes to a pipe, until they are told to flush."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("PYTHONUNBUFFERED", None)
    is_interpreted = target == "interpreter"
    if not is_interpreted:
        env["TEGULA_TARGET"] = target
    command = [sys.executable, str(script), *["interpret"] * is_interpreted]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    y = "y 0\n" if is_interpreted else "pid (0, 0, 0) idx () y: 0\n"
    assert done.stdout == f"before\n{LINE}{y}after\n" * 2
