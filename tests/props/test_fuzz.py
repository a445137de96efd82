"""Mutated kernels never end the process: fuzz.py, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tegula

FUZZ = Path(__file__).with_name("fuzz.py")
N = 60


def fuzz(file: Path, first: int, n: int) -> subprocess.CompletedProcess[str]:
    # The same package as this process's: a sanitizer's build is not the sources'.
    path = str(Path(tegula.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-W", "ignore", file, str(first), str(n)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("first", range(0, 4 * N, N))
def test_mutated_kernels(first: int) -> None:
    done = fuzz(FUZZ, first, N)
    lines = done.stdout.splitlines()
    last = lines[-1].split()[0] if lines else first
    assert done.returncode == 0, (
        f"seed {last}: {done.returncode}\n{done.stderr[-3000:]}"
    )
    seen = Counter(line.split(maxsplit=1)[1] for line in lines)
    assert sum(seen.values()) == N
    assert seen["ok"] > N // 6 and len(seen) > 3, f"too tame or too wild: {seen}"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("first", range(0, 1600, 400))
def test_odd_python(first: int) -> None:
    done = fuzz(FUZZ.with_name("fuzz_source.py"), first, 400)
    lines = done.stdout.splitlines()
    last = lines[-1][:20] if lines else first
    assert done.returncode == 0, (
        f"seed {last}: {done.returncode}\n{done.stderr[-3000:]}"
    )
    seen = Counter(w[1] for line in lines if len(w := line.split()) > 1)
    assert seen["ok"] > 40 and seen["TYPE"] > 40 and len(seen) > 8, seen
