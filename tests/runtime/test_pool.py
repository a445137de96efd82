"""Threads of a grid on CPUs: who wakes whom."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tegula
import tegula.language as tl


def output_of(source, tmp_path, threads):
    script = tmp_path / "script.py"
    script.write_text(source)
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
    assert not done.returncode, done.stderr
    return done.stdout


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

ALONE = """
import threading, numpy as np, tegula, tegula.language as tl

@tegula.jit
def count(x, sums, rows, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) % (n // BLOCK) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(sums + tl.load(x + i), 1)
    tl.atomic_add(rows + tl.arange(0, BLOCK), 1.0)

rng = np.random.default_rng(0)
x = rng.integers(0, 7, 1 << 14).astype(np.int32)
sums, rows = np.zeros(7, np.int32), np.zeros(256, np.float64)
LONG, SHORT, TURNS = 1 << 17, 1 << 12, 16

def launch(grid):
    count[(grid,)](x, sums, rows, x.size, BLOCK=256)

def join_in():
    while not rows[0]:  # until the first launch adds
        pass
    for _ in range(TURNS):
        launch(SHORT)

count[(1,)](x, np.zeros(7, np.int32), np.zeros(256), x.size, BLOCK=256)
others = [threading.Thread(target=join_in) for _ in range(2)]
for t in others:
    t.start()
launch(LONG)
for t in others:
    t.join()
n = LONG + len(others) * TURNS * SHORT
turns = n * 256 // x.size
assert (sums == turns * np.bincount(x)).all(), (sums, turns * np.bincount(x))
assert (rows == n).all(), rows
print("exact")
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_launches_of_several_threads_add_to_the_same_numbers(tmp_path, threads):
    """The first one may take no lock: the others wait until it has seen them."""
    assert output_of(ALONE, tmp_path, threads) == "exact\n"


def test_a_launch_that_begins_alone_is_shared(tmp_path):
    """After a while helpers come in; whether they do the next time depends on its pace."""
    source = ALONE.replace("range(2)", "range(0)")
    assert output_of(source, tmp_path, 3) == "exact\n"


ONE_THREAD = """
import numpy as np, tegula, tegula.language as tl

@tegula.jit
def each(op: tl.constexpr, sums, x, at, old, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x + i, mask=i < n)
    p = sums + tl.load(at + i, mask=i < n, other=0)
    got = op(p, x, mask=(i < n) & (x != 3))
    tl.store(old + i, got, mask=i < n)

DO = {
    tl.atomic_add: np.add, tl.atomic_max: np.maximum, tl.atomic_min: np.minimum,
    tl.atomic_and: np.bitwise_and, tl.atomic_or: np.bitwise_or,
    tl.atomic_xor: np.bitwise_xor, tl.atomic_xchg: lambda old, new: new,
}
rng = np.random.default_rng(0)
n = 203
for op, do in DO.items():
    for dtype in ("int32", "uint32", "int64", "uint64", "float16", "float32", "float64"):
        is_bits = op in (tl.atomic_and, tl.atomic_or, tl.atomic_xor)
        if dtype[0] == "f" and (is_bits or dtype == "float16" and op != tl.atomic_add):
            continue
        low = 0 if dtype[0] == "u" else -5
        x = rng.integers(low, 9, n).astype(dtype)
        spread, row = rng.integers(0, 5, n), np.arange(n)
        for at in (spread.astype(np.int32), row.astype(np.int32)):
            sums = rng.integers(low, 9, n).astype(dtype)
            want, want_old, old = sums.copy(), np.zeros(n, dtype), np.empty(n, dtype)
            for i in range(n):
                if x[i] != 3:
                    want_old[i] = want[at[i]]
                    want[at[i]] = do(want[at[i]], x[i])
            each[(tegula.cdiv(n, 64),)](op, sums, x, at, old, n, BLOCK=64)
            assert (sums == want).all(), (op, dtype, sums, want)
            assert (old == want_old).all(), (op, dtype, old, want_old)
print("equal")
"""


def test_one_thread_adds_in_order(tmp_path):
    """Without locks, elements of one place still come one after the other."""
    assert output_of(ONE_THREAD, tmp_path, 1) == "equal\n"


@pytest.mark.parametrize("threads", [2, 4])
def test_a_program_may_wait_for_a_later_one(tmp_path, threads):
    """The launches before were short, so nobody is woken until the first program waits."""
    assert output_of(WAITS, tmp_path, threads) == "7\n"


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
