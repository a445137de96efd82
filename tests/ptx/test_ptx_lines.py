"""TEGULA_LINE_INFO: PTX that says which line of the kernel it is for."""

from __future__ import annotations

import inspect
import linecache
import re
import subprocess
from pathlib import Path
from typing import Any

from test_gate import PTXAS

import tegula
import tegula.language as tl


@tegula.jit
def twice(x):
    y = x * 1.5
    return y + y


@tegula.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = twice(x)
    tl.store(y_ptr + i, y - tl.max(y, axis=0), mask=i < n)


def compiled(lines: bool, ptxas: str = "none"):
    with tegula.knobs.compilation.scope(), tegula.knobs.nvidia.scope():
        tegula.knobs.compilation.line_info = lines
        tegula.knobs.nvidia.ptxas = ptxas
        return tegula.jit(kernel.fn).compile(
            "*fp32:16", "*fp32:16", "i32", BLOCK=1024, target="cuda:sm_90a"
        )


def line_of(fn, text: str) -> int:
    lines, first = inspect.getsourcelines(fn.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_lines_of_the_kernel_and_its_helper():
    ptx = compiled(True).asm["ptx"]
    (file,) = re.findall(r'\.file\s+(\d+) "([^"]+)"', ptx)
    assert Path(file[1]) == Path(__file__)
    at, of = 0, {}
    for text in ptx.splitlines():
        if m := re.match(rf"\s*\.loc\s+{file[0]} (\d+) \d+", text):
            at = int(m[1])
        elif m := re.match(r"\s*(?:@!?%p\d+ )?([a-z]+)\.", text):
            of.setdefault(m[1], set()).add(at)
    assert of["st"] >= {line_of(kernel, "tl.store")}
    assert of["mul"] & {line_of(twice, "x * 1.5")}
    # tl.max is the library's: its shuffles have the line that calls it.
    assert of["shfl"] == {line_of(kernel, "tl.max")}


@tegula.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x)


def test_a_line_stays_when_setup_is_added():
    """Half of the threads own no element: who does is found out ahead of the kernel's code,
    while the store is being built."""
    with tegula.knobs.compilation.scope(), tegula.knobs.nvidia.scope():
        tegula.knobs.compilation.line_info = True
        tegula.knobs.nvidia.ptxas = "none"
        ptx = copy.compile("*fp32:16", "*fp32:16", BLOCK=64, target="cuda:sm_80").asm[
            "ptx"
        ]
    at = [0]
    for text in ptx.splitlines():
        if m := re.match(r"\s*\.loc\s+\d+ (\d+) \d+", text):
            at.append(int(m[1]))
        if re.match(r"\s*@?!?(%p\d+)? ?st\.global", text):
            assert at[-1] == line_of(copy, "tl.store")
            break
    else:
        raise AssertionError(ptx)


def test_code_is_the_same():
    def bare(ptx: str) -> list[str]:
        marks = r"\s*(\.loc|\.file|\.section|\$L__tmp|\$L__func)"
        return [" ".join(x.split()) for x in ptx.splitlines() if not re.match(marks, x)]

    off = compiled(False).asm["ptx"]
    assert ".loc" not in off
    assert ".file" not in off
    assert bare(compiled(True).asm["ptx"]) == bare(off)


def test_it_assembles(tmp_path):
    c = compiled(True, PTXAS)
    assert c.n_regs == compiled(False, PTXAS).n_regs
    assert Path(__file__).name.encode() in c.asm["cubin"]
    (tmp_path / "x.ptx").write_text(c.asm["ptx"])
    command = [PTXAS, "-arch=sm_90a", "-lineinfo", "x.ptx", "-o", "x.cubin"]
    subprocess.run(command, cwd=tmp_path, check=True)


MODULE = """import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) * 1.5)
"""


def test_a_function_that_moved_has_its_own_entry_on_disk(tmp_path):
    """The lines are in the key: code kept under the old ones would name wrong places."""
    places = []
    file = tmp_path / "moves.py"
    with tegula.knobs.cache.scope(), tegula.knobs.compilation.scope():
        tegula.knobs.cache.dir = str(tmp_path / "cache")
        tegula.knobs.compilation.line_info = True
        for above in ("", "", "\n\n\n"):
            file.write_text(above + MODULE)
            names: dict[str, Any] = {"__file__": str(file), "__name__": "moves"}
            linecache.clearcache()
            exec(compile(file.read_text(), str(file), "exec"), names)
            with tegula.knobs.nvidia.scope():
                tegula.knobs.nvidia.ptxas = "none"
                ptx = (
                    names["kernel"].compile("*fp32:16", target="cuda:sm_90a").asm["ptx"]
                )
            (number,) = re.findall(rf'\.file\s+(\d+) "{re.escape(str(file))}"', ptx)
            lines = re.findall(rf"\.loc\s+{number} (\d+) ", ptx)
            entries = [f for f in (tmp_path / "cache").rglob("*") if f.is_file()]
            places.append((set(map(int, lines)), len(entries)))
    (first, n), again, (moved, more) = places
    assert n > 0, "the cache on disk is not used at all"
    assert again == (first, n)
    assert moved == {line + 3 for line in first}
    assert more > n
