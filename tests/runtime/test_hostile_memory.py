"""Each allocation of Python's fails, one after the other: see python_memory.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tegula

pytest.importorskip("_testcapi")


@pytest.mark.slow
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer has allocations")
@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="which have faults of their own"
)
@pytest.mark.parametrize(
    ("scenario", "step"),
    [
        ("lower", 7),
        ("lower again", 1),
        ("error", 1),
        ("launch", 11),
        ("launch again", 1),
    ],
)
def test_python_has_no_memory(scenario: str, step: int) -> None:
    path = str(Path(tegula.__file__).parents[1])
    script = Path(__file__).with_name("python_memory.py")
    done = subprocess.run(
        [sys.executable, script, path, scenario, str(step)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    n_failed = int(done.stdout.split("1:")[-1]) if "1:" in done.stdout else 0
    # A launch of what is compiled allocates nothing.
    assert n_failed > 100 or scenario == "launch again", done.stdout
