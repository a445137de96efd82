"""Threads of a grid on CPUs: who wakes whom."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tegula
import tegula.language as tl

WAITS = """
import time, numpy as np, tegula, tegula.language as tl

@tegula.jit
def message(flag, out):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag, 0) != 1:
            pass
        tl.store(out, 7)
    else:
        tl.atomic_xchg(flag, 1)

flag, out = np.ones(1, np.int32), np.zeros(1, np.int32)
for _ in range(3):
    message[(2,)](flag, out)
flag[:], out[:] = 0, 0
time.sleep(0.1)  # workers sleep by now
message[(2,)](flag, out)
print(out[0])
"""


@pytest.mark.parametrize("threads", [2, 4])
def test_a_program_may_wait_for_a_later_one(tmp_path, threads):
    """The launches before were short, so nobody is woken until the first program waits."""
    script = tmp_path / "script.py"
    script.write_text(WAITS)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={
            **os.environ,
            "PYTHONPATH": str(tegula.__path__[0]) + "/..",
            "TEGULA_NUM_THREADS": str(threads),
            "TEGULA_TARGET": "cpu",
            "TEGULA_CACHE_DIR": "",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "7\n", done.stderr


@tegula.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@pytest.mark.parametrize("n", [1, 4096, 1 << 20])
def test_every_program_runs_once(n):
    x = np.zeros(n, np.int32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        for _ in range(5):
            add_one[(tegula.cdiv(n, 256),)](x, n, BLOCK=256)
    assert (x == 5).all()
