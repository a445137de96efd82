"""What csrc/tools/lint.py finds in a small tree where something wrong was planted."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """lint.py, whose tree is an empty folder."""
    path = ROOT / "csrc/tools/lint.py"
    spec = importlib.util.spec_from_file_location("lint", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "CSRC", tmp_path / "csrc")
    return module


def plant(tree: Path, name: str, source: str) -> None:
    """A file of that tree, compiled where `make check` would compile it."""
    c = tree / "csrc" / name
    obj = tree / "build/check/csrc" / Path(name).with_suffix(".o")
    for path in (c, obj):
        path.parent.mkdir(parents=True, exist_ok=True)
    c.write_text(source)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    subprocess.run([compiler, "-c", c, "-o", obj], check=True)


def test_an_arrow_that_runs_up(lint: ModuleType, tmp_path: Path) -> None:
    """A declaration of one's own hides the arrow from includes, and not from nm."""
    plant(tmp_path, "layout/map.c", "int map(void) { return 1; }")
    plant(tmp_path, "ir/op.c", "int map(void); int op(void) { return map(); }")
    assert list(lint.check_symbols(tmp_path / "build/check")) == []
    plant(tmp_path, "base/arena.c", "int op(void); int arena(void) { return op(); }")
    lint.symbols.cache_clear()
    assert list(lint.check_symbols(tmp_path / "build/check")) == [
        "csrc/base/arena.c: op is ir/'s; base/ does not stand on that"
    ]


def test_two_folders_that_stand_on_each_other(
    lint: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(lint.check_order()) == []
    monkeypatch.setattr(lint, "ARROWS", {"ir": "passes", "passes": "ir"})
    assert list(lint.check_order()) == [
        "csrc/tools/lint.py: ir/ names passes/, which is no row above it"
    ]
