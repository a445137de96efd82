"""The stubs that people and editors read say what builtins.def does."""

from __future__ import annotations

import inspect
import pydoc
import re
from pathlib import Path
from types import ModuleType

import pytest

import tegula.language as tl
from tegula.compat import later_names
from tegula.language import debug
from tegula.language.extra import cuda

TABLE = Path(__file__).parents[2] / "csrc/frontend/builtins.def"
ROWS = {
    name: (sig, flags)
    for name, sig, flags in re.findall(
        r'^BUILTIN\("(\w+)",\s*"([^"]*)",\s*\w+,\s*(\w+)', TABLE.read_text(), re.M
    )
    if flags != "BI_PY"
}
OPS = Path(__file__).parents[2] / "csrc/ir/ops.def"  # a row of MATH is a builtin, too
ROWS |= {
    name: ("x", flags)
    for name, flags in re.findall(
        r"^MATH\(\w+,\s*(\w+),[^,]*,\s*(\w+)", OPS.read_text(), re.M
    )
}
MODULES: list[ModuleType] = [
    *(tl, tl.math, tl.core, tl.target_info),
    *(cuda, debug, later_names),
]


def stub(name: str) -> object:
    found = [vars(m)[name] for m in MODULES if name in vars(m)]
    return next((f for f in found if hasattr(f, "__tegula_builtin__")), None)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_row_has_a_stub(name: str) -> None:
    if name == "to":
        return  # x.to(..) alone
    fn = stub(name)
    assert fn is not None and fn.__doc__, f"no documented stub of {name}"
    want = [
        p.strip().rstrip("=").lstrip("*") for p in ROWS[name][0].split(",") if p.strip()
    ]
    assert list(inspect.signature(fn).parameters) == want


def test_stub_has_a_row() -> None:
    for m in MODULES:
        for name, fn in vars(m).items():
            mark = getattr(fn, "__tegula_builtin__", None)
            assert mark is None or mark in ROWS, name


def test_stub_on_the_host() -> None:
    with pytest.raises(ValueError, match=r"@triton\.jit"):
        tl.program_id(0)
    with pytest.raises(RuntimeError):
        tl.softmax(3)


def test_signatures_as_people_see_them() -> None:
    """Without what Triton's wrappers hand on; torch.compile finds it by its name."""
    for fn in (tl.load, tl.tensor.view, tl.core.view):
        assert "_semantic" in inspect.signature(fn).parameters
        assert "_semantic" not in list(inspect.signature(fn).parameters)
        assert "_semantic" not in str(inspect.signature(fn))
    text = pydoc.plain(pydoc.render_doc(tl.tensor))
    assert "sum(input: 'tensor', axis:" in text and "_semantic" not in text
    shown = inspect.signature(tl.program_id)
    assert str(shown) == "(axis: 'int') -> 'tensor'" and isinstance(
        shown, inspect.Signature
    )
    assert repr(shown) == f"<Signature {shown}>" and shown == inspect.signature(
        tl.program_id
    )
    assert shown.bind(0).arguments == {"axis": 0} and hash(shown) == hash(shown)
    assert shown.parameters["axis"].annotation == "int"


def test_what_nobody_writes_is_nowhere_shown() -> None:
    """Neither in the text that editors read nor in what IPython and pydoc ask for."""
    shown = 0
    for m in MODULES:
        for name, fn in vars(m).items():
            if hasattr(fn, "__tegula_builtin__"):
                shown += 1
                assert " _semantic" not in inspect.getsource(fn), name
                assert "_semantic" not in [*inspect.signature(fn).parameters], name
                assert "_semantic" not in pydoc.plain(pydoc.render_doc(fn)), name
    assert shown > 100


def test_completion_and_help() -> None:
    """As Jedi completes and IPython answers ``tl.load?``, where they are installed."""
    jedi = pytest.importorskip("jedi")
    oinspect = pytest.importorskip("IPython.core.oinspect")
    for text in ("tl.load(", "tl.sum("):
        of = jedi.Interpreter(text, [{"tl": tl}]).get_signatures()
        assert of and "_semantic" not in of[0].to_string()
    shown = oinspect._render_signature(inspect.signature(tl.load), "tl.load")
    assert "pointer" in shown and "_semantic" not in shown
