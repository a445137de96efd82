"""Each file below tests/errors holds a bad kernel and the message it must earn."""

from __future__ import annotations

import linecache
import re
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tegula

HERE = Path(__file__).parent
FILES = sorted((HERE / "errors").rglob("*.py"), key=lambda p: p.name)
MARK = "\n# ----\n"


def message(path: Path) -> str:
    linecache.checkcache(str(path))
    run = runpy.run_path(str(path))["run"]
    with pytest.raises(Exception) as e:  # launches raise what Python raises
        run()
    assert e.value.__cause__ is None and e.value.__context__ is None
    notes = getattr(e.value, "__notes__", ())
    text = "\n".join([str(e.value), *notes]).replace(str(path), path.name)
    named = isinstance(e.value, tegula.CompileError) and e.value.lineno
    return text if named else f"{type(e.value).__name__}: {text}"


@pytest.mark.filterwarnings("ignore::UserWarning")  # the error is what is tested
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_message(path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_text()
    got = "".join(f"# {line}".rstrip() + "\n" for line in message(path).splitlines())
    if pytestconfig.getoption("--bless"):
        path.write_text(text.split(MARK)[0] + MARK + got)
    else:
        assert got == text.partition(MARK)[2]


def test_every_row_of_the_frontend_has_a_file() -> None:
    raised = set()
    for c in (HERE.parent / "csrc/frontend").rglob("*.c"):
        raised |= set(
            re.findall(r"\b(?:fail|err_at)\([^;]*?\b([A-Z_]{4,}),", c.read_text())
        )
    earned = {re.search(r"Error\[(\w+)\]", p.read_text()) for p in FILES}
    assert {"SYNTAX", "NAME", "SHAPE"} < raised
    assert raised - {m[1] for m in earned if m} == set()


def test_no_message_shows_our_insides() -> None:
    ours = re.compile(
        r"tegula[/\\]|csrc|LLVM|<class|<module|0x[0-9a-f]{6}|run_path|PyObj"
    )
    for path in FILES:
        found = ours.search(path.read_text().partition(MARK)[2])
        assert not found, f"{path.name}: {found}"


def test_the_traceback_ends_in_the_kernel() -> None:
    path = HERE / "errors/shape/shape_inlined.py"
    with pytest.raises(tegula.CompileError) as e:
        runpy.run_path(str(path))["run"]()
    *_, host, kernel = traceback.extract_tb(e.value.__traceback__)
    assert (host.name, host.filename) == ("run", str(path))
    assert (kernel.name, kernel.filename) == ("add", str(path))
    assert (kernel.lineno, kernel.line) == (e.value.lineno, "return a + b")
    assert e.value.offset == 12 and e.value.filename == str(path)


def test_a_notebook_names_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the file that IPython gives a cell, whose name nobody has seen."""
    path = HERE / "errors/shape/shape_inlined.py"
    names = {str(path): ("Cell", "In[7]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    module: Any = ModuleType("IPython")
    module.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", module)
    with pytest.raises(tegula.CompileError) as e:
        runpy.run_path(str(path))["run"]()
    assert str(e.value).startswith("Cell In[7]:") and str(path) not in str(e.value)
    assert "inlined from Cell In[7]:" in str(e.value)
    assert e.value.filename == str(path)
    fault = tegula.errors.emulator_error(
        "RACE", "text", "k", str(path), "k", 3, 5, (0, 0, 0), 1
    )
    assert str(fault).startswith("Cell In[7]:3:5: RaceError: text\n")
    module.get_ipython = lambda: SimpleNamespace()  # another shell's
    with pytest.raises(tegula.CompileError) as e:
        runpy.run_path(str(path))["run"]()
    assert str(e.value).startswith(str(path))


def test_a_notebook_numbers_the_lines_of_the_kernel() -> None:
    """IPython shows co_qualname, and counts from co_firstlineno."""
    path = HERE / "errors/shape/shape_inlined.py"
    with pytest.raises(tegula.CompileError) as e:
        runpy.run_path(str(path))["run"]()
    *_, (frame, _) = traceback.walk_tb(e.value.__traceback__)
    code = frame.f_code
    text = path.read_text().splitlines()
    assert code.co_qualname == "add"
    assert text[code.co_firstlineno - 1].startswith("def add")
