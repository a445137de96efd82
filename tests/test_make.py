"""What make says of the sources, for editors; and which tests make quick runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# make sanitize preloads a library that make and the compiler do without.
ENV = {**os.environ, "MAKEFLAGS": "", "LD_PRELOAD": ""}


def test_compile_commands(tmp_path: Path) -> None:
    """Every C file of ours is there, and its command is one that a compiler takes."""
    done = subprocess.run(
        ["make", "-f", "csrc/Makefile", "commands", f"PYTHON={sys.executable}",
         f"BUILD_DIR={tmp_path}"],
        cwd=ROOT, capture_output=True, text=True, env=ENV,
    )  # fmt: skip
    if "cannot build" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[0])
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "compile_commands.json").read_text())
    files = {r["file"] for r in rows}
    on_disk = {str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.c")}
    assert on_disk <= files
    row = next(r for r in rows if r["file"] == "csrc/base/map.c")
    command = [*shlex.split(row["command"]), "-fsyntax-only"]
    command.remove("-c")
    subprocess.run(command, cwd=row["directory"], check=True, env=ENV)


def test_quick_is_twenty_kernels_on_two_targets() -> None:
    rows = (ROOT / "tests/quick.txt").read_text().splitlines()
    kernels = {r.replace("cpu", "emu:sm_80") for r in rows}
    assert len(kernels) == 20
    assert len(rows) == len(set(rows)) == 40
