"""newcomers.txt: wrong kernels beside what they are told.

    == a title, unique
        lines of the kernel k(x, y, z, n, B: tl.constexpr), indented; or none
    lines of the host: what it uses, or what is done with it, else launched as LAUNCH has it
    > CODE `what is marked`: the message
    > help: ..

x, y, z are arrays: two of 512 floats, one of 512 int32. Warnings stand before the error.
"""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

import pytest

import tegula

FILE = Path(__file__).parent / "newcomers.txt"
INTRO, *CASES = FILE.read_text().split("\n== ")
HEAD = """\
import functools, operator
import numpy as np, tegula, tegula.language as tl

x, y = np.ones(512, np.float32), np.ones(512, np.float32)
z = np.ones(512, np.int32)
"""


LAUNCH = "k[(1,)](x, y, z, 4, B=16)"


def program(case: str) -> str:
    lines = [
        line for line in case.splitlines()[1:] if line and not line.startswith(">")
    ]
    at = next((i for i, s in enumerate(lines) if s[0] != " "), len(lines))
    body, host = lines[:at] or ["    tl.store(x, 1.0)"], lines[at:]
    launches = any(re.match(r"k\[|tegula\.|tl\.", line) for line in host)
    kernel = ["@tegula.jit", "def k(x, y, z, n, B: tl.constexpr):", *body]
    lines = [*kernel, *host] if launches else [*host, *kernel, LAUNCH]
    return "\n".join([HEAD, *lines, ""])


def told(path: Path) -> list[str]:
    source = path.read_text().splitlines()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            runpy.run_path(str(path))
            error = None
        except Exception as e:
            error = e
    out = []
    for w in seen:
        assert w.filename == str(path), f"{w.filename} is no line of the user's"
        out.append(
            f"{w.category.__name__} `{source[w.lineno - 1].strip()}`: {w.message}"
        )
    if isinstance(error, tegula.CompileError) and error.lineno:
        head, line, mark, *rest = str(error).splitlines()
        left = len(mark) - len(mark.lstrip())
        marked = line[left : left + len(mark.strip())]
        assert source[error.lineno - 1].strip() == line.strip()
        code, text = re.search(r"CompileError\[(\w+)\]: (.*)", head).groups()
        out += [f"{code} `{marked}`: {text}", *(s.strip() for s in rest)]
    elif error:
        out += f"{type(error).__name__}: {error}".splitlines()
        out += getattr(error, "__notes__", [])
    return ["> " + s.replace(str(path), "case.py") for s in out]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: c.split("\n")[0].replace(" ", "_")
)
def test_told(case: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    path = tmp_path / "case.py"
    path.write_text(program(case))
    got = told(path)
    assert got, "nobody is told anything"
    lines = [s for s in case.splitlines() if s and not s.startswith(">")]
    if pytestconfig.getoption("--bless"):
        # one process: each case finds its own block in what the others have written
        text = FILE.read_text()
        new = case.replace(case.rstrip("\n"), "\n".join([*lines, *got]))
        FILE.write_text(
            text.replace("\n== " + case.rstrip("\n"), "\n== " + new.rstrip("\n"))
        )
    else:
        assert got == [s for s in case.splitlines() if s.startswith(">")]
