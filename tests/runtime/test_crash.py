"""A signal in a kernel says which kernel it was, and faulthandler goes on to work."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tegula

SCRIPT = """
import faulthandler, os, resource, signal, sys
import numpy as np, tegula, tegula.language as tl
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

@tegula.jit
def wild(x, off):
    tl.store(x + off, 1.0)

@tegula.jit
def greedy(x, off):
    a = tl.load(x + off)
    b = tl.sum(tl.load(x + tl.arange(0, 16)))
    tl.store(x, a + b)

@tegula.jit
def tame(x):
    tl.store(x, 1.0)

word = sys.argv[1]
if "before" in word:
    faulthandler.enable()
x = np.zeros(16, np.float32)
tame[(1,)](x)
tame[(1,)](x)
if "after" in word:
    faulthandler.enable()
if "kernel" in word:
    wild[(1,)](x, 3)
    wild[(1,)](x, 1 << 44)
if "reads" in word:
    greedy[(1,)](x, 3)
    greedy[(1,)](x, -1 << 40)
if "nowhere" in word:  # an address that the processor refuses ahead of its page
    greedy[(1,)](x, 3)
    greedy[(1,)](x, 1 << 60)
if "elsewhere" in word:
    os.kill(os.getpid(), signal.SIGSEGV)
print("survived")
"""


def run(folder: Path, word: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT)
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        "TEGULA_CACHE_DIR": "",
        "TEGULA_CHECK_BOUNDS": "0",
    }
    return subprocess.run(
        [sys.executable, "script.py", word],
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
    )


@pytest.mark.skipif("address" in tegula._core.build, reason="ASan has the signal")
@pytest.mark.parametrize("faults", ["", "before", "after"])
@pytest.mark.parametrize("place", ["kernel", "elsewhere"])
def test_who_it_was(tmp_path, place, faults):
    done = run(tmp_path, place + faults)
    assert done.returncode == -signal.SIGSEGV and "survived" not in done.stdout
    told = [line for line in done.stderr.split("\n") if "tegula: SIG" in line]
    assert len(told) == 1
    if place == "kernel":
        # faulthandler in front of ours sends the signal anew, which has no address then.
        assert "SIGSEGV at address 0x" in told[0] or faults == "after"
        assert "in kernel wild(), program (" in told[0]
    else:
        assert "Kernel tame() was launched before this" in told[0]
    assert "TEGULA_CHECK_BOUNDS=1" in told[0]
    assert ("Fatal Python error: Segmentation fault" in done.stderr) == bool(faults)


X86 = platform.machine() == "x86_64"
LINES = {
    "kernel": ("a store in script.py:8", "a store in script.py:8"),
    "reads": (
        "a load in script.py:12 or 13",
        "a load in script.py:12 or 13, or a store in script.py:14",
    ),
    "nowhere": ("a load in script.py:12 or 13, or a store in script.py:14",) * 2,
}


@pytest.mark.skipif("address" in tegula._core.build, reason="ASan has the signal")
@pytest.mark.parametrize("word", LINES)
def test_the_lines_that_it_can_have_been(tmp_path, word):
    """x86 says whether it was a load or a store."""
    done = run(tmp_path, word)
    assert done.returncode == -signal.SIGSEGV
    told = [line for line in done.stderr.split("\n") if "tegula: SIG" in line]
    assert f"): {LINES[word][not X86]}, outside of its tensors" in told[0]


STARVED = """
import resource, sys
import numpy as np, tegula, tegula.language as tl

@tegula.jit
def kernel(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    for j in tl.static_range(12):
        a = tl.exp(a) + tl.sum(a, 0) * j
    tl.store(y + i, tl.sort(a))

x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
tegula.knobs.runtime.num_threads = 1
size = int(open("/proc/self/statm").read().split()[0]) * 4096
for kilobytes in map(int, sys.argv[1:]):
    resource.setrlimit(resource.RLIMIT_AS, (size + (kilobytes << 10), -1))
    try:
        kernel[(1,)](x, y, BLOCK=64)
        print("ran")
    except MemoryError:
        print("MemoryError")
"""


@pytest.mark.skipif(tegula._core.build.count("-"), reason="sanitizers take memory")
def test_out_of_memory_in_a_compile(tmp_path):
    """Each limit ends another part of it: Python, the frontend, LLVM, the linker."""
    (tmp_path / "script.py").write_text(STARVED)
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        "TEGULA_CACHE_DIR": "",
    }
    for limits in (["100", "1500", "4000", "1000000"], ["700", "2500", "6000"]):
        done = subprocess.run(
            [sys.executable, "script.py", *limits],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        assert set(done.stdout.split()) <= {"ran", "MemoryError"}
        assert limits[-1] != "1000000" or done.stdout.endswith("ran\n")
