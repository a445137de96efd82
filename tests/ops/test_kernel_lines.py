"""Kernels of the ops can be read in one go: a file has at most 100 lines of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tegula.ops

FILES = sorted(Path(tegula.ops.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.stem)
def test_lines_of_kernels(file: Path) -> None:
    lines = {
        f.name: (f.end_lineno or 0) - f.lineno + 1
        for f in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(f, ast.FunctionDef)
        and any("jit" in ast.unparse(d) for d in f.decorator_list)
    }
    assert sum(lines.values()) <= 100, lines
    assert lines or file.stem in (
        *("__init__", "arrays", "nn", "registered", "linear_cross_entropy"),
    )
