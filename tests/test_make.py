"""What make says of the sources, for editors; which tests it runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

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


@dataclass(eq=False)
class Item:
    """What tests/conftest.py asks of a pytest.Item."""

    originalname: str
    nodeid: str
    n: int | None
    path = Path("test_file.py")

    def get_closest_marker(self, name: str) -> SimpleNamespace | None:
        return SimpleNamespace(args=(self.n,)) if self.n else None


def test_each_random_case_has_its_turn(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten cases marked one_in(4) two or three run, each in one turn of four."""
    ours = request.config.pluginmanager.get_plugin(str(ROOT / "tests/conftest.py"))
    marks = {"one": 4, "other": 4, "unmarked": None}
    items = [Item(f, f"{f}[{i}]", n) for f, n in marks.items() for i in range(10)]
    runs: Counter[str] = Counter()
    for turn in range(1000, 1004):
        monkeypatch.setenv("TEGULA_TURN", str(turn))
        others = ours.of_other_turns(SimpleNamespace(args=["one[3]"]), items)
        kept = [i for i in items if i not in others]
        assert all(
            2 <= sum(i.originalname == f for i in kept) <= 4 for f in ("one", "other")
        )
        runs.update(i.nodeid for i in kept)
    assert runs == {
        i.nodeid: 4 if i.nodeid == "one[3]" or not i.n else 1 for i in items
    }


def test_each_test_is_in_one_sample(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a sanitizer, of four commits with --sample=4 each runs another fourth."""
    ours = request.config.pluginmanager.get_plugin(str(ROOT / "tests/conftest.py"))
    config = SimpleNamespace(
        getoption={"--sample": 4, "--shard": ""}.get,
        hook=SimpleNamespace(pytest_deselected=lambda items: None),
    )
    runs: Counter[str] = Counter()
    for turn in range(1000, 1004):
        monkeypatch.setenv("TEGULA_TURN", str(turn))
        items = [Item("one", f"one[{i}]", None) for i in range(40)]
        ours.pytest_collection_modifyitems(config, items)
        runs.update(i.nodeid for i in items)
    assert runs == {f"one[{i}]": 1 for i in range(40)}
