"""The code on every page of docs/ and in README.md runs, and prints what the page says.

A page's ``python`` blocks are one program, in their order; the program keeps the page's
line numbers, so a failure names the line of the page. A ``text`` block right below one is
what it printed, where the program is called kernel.py; ``...`` stands for anything. A
first line ``# needs torch`` leaves a block out where torch is missing. Lines of ``sh``
blocks that begin with ``python -m tegula`` run as well, in a folder of their own.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("numpy")

ROOT = Path(__file__).parents[2]
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if p.name != "README.md")
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.M | re.S)


@dataclass
class Fence:
    language: str
    code: str
    line: int  # of the page where code begins, from 1
    after: str  # what stands between this fence and the one before


def fences(text: str) -> list[Fence]:
    found, last = [], 0
    for m in FENCE.finditer(text):
        line = text.count("\n", 0, m.start(3)) + 1
        found.append(Fence(m[2], m[3], line, text[last : m.start()]))
        last = m.end()
    return found


def missing(code: str) -> str | None:
    needs = re.match(r"# needs (\w+)", code)
    if needs and importlib.util.find_spec(needs[1]) is None:
        return needs[1]
    return None


def same(wanted: str, got: str) -> bool:
    plain = "\n".join(line.rstrip() for line in got.rstrip().splitlines()) + "\n"
    return doctest.OutputChecker().check_output(wanted, plain, doctest.ELLIPSIS)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda p: p.stem)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = fences(page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # A kernel's text is read from its file.
    program = tmp_path / f"{page.stem.replace('-', '_')}_page.py"
    lines: list[str] = []
    for b in blocks:
        if b.language == "python":
            lines += [""] * (b.line - 1 - len(lines)) + b.code.splitlines()
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    linecache.checkcache(str(program))
    names = {"__name__": "page", "__file__": str(program)}
    said = None
    for b in blocks:
        if b.language == "text" and said is not None and not b.after.strip():
            assert same(b.code, said), f"{page.name}:{b.line}: printed was\n{said}"
        said = None
        if b.language != "python" or missing(b.code):
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = compile("\n" * (b.line - 1) + b.code, str(program), "exec")
            exec(code, names)
        said = out.getvalue().replace(str(program), "kernel.py")


def commands(page: Path) -> list[str]:
    return [
        line.partition("  #")[0].strip()
        for b in fences(page.read_text(encoding="utf-8"))
        if b.language == "sh"
        for line in b.code.splitlines()
        if line.startswith("python -m tegula ")
    ]


RUNS = sorted({c for p in [*PAGES, ROOT / "README.md"] for c in commands(p)})


@pytest.mark.parametrize("command", RUNS)
def test_command(command: str, tmp_path: Path) -> None:
    for name, code in SCRIPTS.items():
        (tmp_path / name).write_text(code)
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "TEGULA_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, *shlex.split(command)[1:]],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# What the pages' commands work on.
SCRIPTS = {
    "script.py": """\
import numpy as np
import tegula as triton
import tegula.language as tl


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


if __name__ == "__main__":
    x = np.ones(1000, np.float32)
    double[(4,)](x, 1000, BLOCK=256)
    assert (x == 2).all()
"""
}


def test_there_are_pages() -> None:
    assert len(PAGES) >= 15 and len(RUNS) >= 5


def test_the_plots_show_the_tables_of_the_benchmarks(monkeypatch):
    """docs/plot.py draws them; whoever changes a table runs that again."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import plot

    now = plot.pictures()
    for name, text in now.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, name
    text = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    slower = text.replace("| 8192^3 | 691 |", "| 8192^3 | 591 |")
    assert slower != text
    assert plot.svg([plot.products(slower)]) != now["tutorials/h200_products.svg"]
