"""Golden tests: one small .tir each, input above, output below, compared exactly.

    // RUN: fold                  arguments of tirc; the last word names the lower half
    func @f(..) { .. }
    // ---- fold
    func @f(..) { .. }

A file in tests/golden whose tirc run must fail holds its message below, as comments.
``pytest --bless`` writes the lower halves anew; read the diff before you commit it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TIRC = HERE.parent / "build" / "tirc"
FILES = sorted((HERE / "golden").rglob("*.tir"))
RUN = "// RUN:"


def tirc(args: list[str], text: str) -> str:
    if not TIRC.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    done = subprocess.run(
        [TIRC, *args, "-"], input=text, capture_output=True, text=True, timeout=600
    )
    if done.returncode == 0:
        return done.stdout
    assert done.returncode == 1, f"tirc ended with {done.returncode}\n{done.stderr}"
    return done.stdout + "".join(
        f"// {line}".rstrip() + "\n" for line in done.stderr.splitlines()
    )


@pytest.mark.parametrize(
    "path", FILES, ids=lambda p: str(p.relative_to(HERE / "golden"))
)
def test_golden(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(RUN), f"the first line is {RUN} arguments of tirc"
    args = text[len(RUN) : text.index("\n")].split()
    rule = f"// ---- {args[-1].split(',')[-1]}\n"
    upper, found, want = text.partition(rule)
    got = tirc(args, upper)
    if request.config.getoption("--bless"):
        if got != want or not found:
            path.write_text(upper + rule + got, encoding="utf-8")
        return
    assert got == want, f"{path.name} differs: if that is right, pytest --bless"


def test_printing_is_a_fixed_point() -> None:
    """What tirc printed, tirc reads and prints the same."""
    n = 0
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for half in text.split("// ----", 1):
            body = half[half.find("func") :]
            if "func" not in half or "error" in path.parts[-2]:
                continue
            once = subprocess.run(
                [TIRC, "print", "-"], input=body, capture_output=True, text=True
            )
            if once.returncode:
                continue  # a file about an error
            n += 1
            assert tirc(["print"], once.stdout) == once.stdout, path.name
    assert n > 0
