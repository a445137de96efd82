"""Knobs that are programs: a path, and the version it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tegula import knobs


def program(folder: Path, release: str) -> str:
    path = folder / "ptxas"
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V'\n")
    path.chmod(0o755)
    return str(path)


def test_the_assembler_that_would_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    path = program(tmp_path / "bin", "12.9")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr("tegula.toolchain.find_ptxas", lambda: None)
    with knobs.nvidia.scope():
        knobs.nvidia.ptxas = None
        tool: Any = knobs.nvidia.ptxas
        assert (tool, tool.path, tool.version) == (path, path, "12.9")


def test_the_assembler_that_was_named(tmp_path: Path) -> None:
    path = program(tmp_path, "13.1")
    with knobs.nvidia.scope() as group:
        group.ptxas = path
        assert group.ptxas.version == "13.1" and group.copy().ptxas.path == path
        group.ptxas = "none"
        assert group.ptxas == "none"


def test_a_scope_puts_back_what_was_found() -> None:
    before = knobs.nvidia.ptxas
    with knobs.nvidia.scope():
        knobs.nvidia.ptxas = "none"
    assert knobs.nvidia.ptxas == before
