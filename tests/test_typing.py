"""What type checkers know of kernels: mypy over tests/typing, line by line.

A comment on a line of kernels.py is the type that mypy must reveal there, without module
names; on a line of mistakes.py a part of the error. No other line may have a message, and
none of legal.py. Where pyright or basedpyright is installed it must point at the same
lines; what it says there is its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow  # mypy reads the standard library first
ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "tests/typing"
PYRIGHTS = ("pyright", "basedpyright")
MESSAGE = re.compile(r"^(\w+\.py):(\d+): (note|error): (.*)$", re.M)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """(file, line) -> what mypy says there; the options are a user's, not ours."""
    folder = tmp_path_factory.mktemp("mypy")
    # What tegula imports beside NumPy is two thousand files, and of no type in these three.
    skip = (
        "[mypy]\n[mypy-torch.*,jax.*,IPython.*,matplotlib.*]\nfollow_imports = skip\n"
    )
    (folder / "mypy.ini").write_text(skip)
    cmd = [sys.executable, "-m", "mypy", "--config-file", str(folder / "mypy.ini")]
    cmd += ["--python-version=3.11", "--cache-dir", str(folder), "--check-untyped-defs"]
    done = subprocess.run(
        [*cmd, "kernels.py", "mistakes.py", "legal.py"],
        cwd=HERE,
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    out: dict[tuple[str, int], str] = {}
    for file, line, _, text in MESSAGE.findall(done.stdout):
        if text.startswith("Revealed type is"):
            text = re.sub(r"\b[\w.]+\.(?=\w)", "", text)[len('Revealed type is "') : -1]
        out[file, int(line)] = (out.get((file, int(line)), "") + "\n" + text).strip()
    return out


def comments(file: str) -> dict[int, str]:
    lines = (HERE / file).read_text(encoding="utf-8").split("\n")
    found = {i: s.partition("  # ")[2] for i, s in enumerate(lines, 1)}
    return {i: s for i, s in found.items() if s}


def test_types(told: dict[tuple[str, int], str]) -> None:
    assert {n: s for (f, n), s in told.items() if f == "kernels.py"} == comments(
        "kernels.py"
    )


def test_mistakes_are_found(told: dict[tuple[str, int], str]) -> None:
    wants = comments("mistakes.py")
    got = {n: s for (f, n), s in told.items() if f == "mistakes.py"}
    assert got.keys() == wants.keys()
    for line, want in wants.items():
        assert want in got[line], f"line {line}: {got[line]}"


def test_what_is_legal_is_accepted(told: dict[tuple[str, int], str]) -> None:
    assert {place: s for place, s in told.items() if place[0] == "legal.py"} == {}


def test_pyright_points_at_the_same_lines(tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    found = [shutil.which(n, path=f"{beside}:{os.environ['PATH']}") for n in PYRIGHTS]
    pyright = next((p for p in found if p), None)
    if not pyright:
        pytest.skip("neither pyright nor basedpyright is installed")
    config = {
        "include": [str(HERE)],
        "extraPaths": [str(ROOT / "python")],
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    done = subprocess.run(
        [pyright, "-p", str(tmp_path), "--outputjson"], capture_output=True, text=True
    )
    errors: dict[str, set[int]] = {
        "kernels.py": set(),
        "legal.py": set(),
        "mistakes.py": set(),
    }
    for e in json.loads(done.stdout)["generalDiagnostics"]:
        if e["severity"] == "error":
            errors[Path(e["file"]).name].add(e["range"]["start"]["line"] + 1)
    assert errors["kernels.py"] == errors["legal.py"] == set()
    assert errors["mistakes.py"] == comments("mistakes.py").keys()
