"""Every documented form of every function, by name and by position, as a method, on scalars
and blocks; and what is refused. The rows are in rows.txt."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tegula

FILE = Path(__file__).with_name("rows.txt")
ROWS = [
    (number, line)
    for number, line in enumerate(FILE.read_text().splitlines(), 1)
    if line[:2] in ("+ ", "- ")
]
HEAD = """
import math

import tegula
import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice
"""
BODY = """
@tegula.jit
def row_{}(x, y, o, n):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    w = tl.load(y + i)
    m = tl.reshape(v, (8, 8))
{}
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    path = tmp_path_factory.mktemp("rows") / "rows.py"
    text = HEAD
    for number, line in ROWS:
        body = line[2:].split("  ~ ")[0].replace("\\n", "\n")
        text += BODY.format(number, textwrap.indent(body, "    "))
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("rows", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "number,line", ROWS, ids=lambda v: v if isinstance(v, int) else ""
)
def test_row(rows: Any, number: int, line: str) -> None:
    kernel = getattr(rows, f"row_{number}")
    signature = ("*fp32", "*i32", "*fp32", "i32")
    if line[0] == "+":
        kernel.lower(*signature)
        return
    with pytest.raises(tegula.CompilationError) as e:
        kernel.lower(*signature)
    assert line.partition("  ~ ")[2].lower() in str(e.value).lower()
