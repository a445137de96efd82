"""breakpoint() and print() of kernels that run in the interpreter."""

from __future__ import annotations

import contextlib
import io
import pdb
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import debugger


@tegula.jit
def scaled(v, factor):
    w = v * factor
    breakpoint()
    return w


@tegula.jit(interpret=True)
def outer(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, 0.0)
    pair = (v, 3, "text")
    if pid == 1:
        r = scaled(v, 2.5)
    else:
        r = v
    tl.store(out + i, r, i < n)


def line_of(text: str) -> int:
    return next(
        n for n, t in enumerate(Path(__file__).read_text().splitlines(), 1) if text in t
    )


class Seen:
    """A sys.breakpointhook that keeps what it finds."""

    def __init__(self) -> None:
        self.stops: list[list[Any]] = []
        self.programs: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        frame, frames = sys._getframe(1), []
        while frame is not None and frame.f_code.co_filename == __file__:
            if frame.f_code.co_name.startswith("test_"):
                break
            frames.append((frame.f_code.co_name, frame.f_lineno, dict(frame.f_locals)))
            frame = frame.f_back
        assert frame is not None and frame.f_code.co_name.startswith("test_")
        self.stops.append(frames)
        self.programs.append(debugger.program)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    hook = Seen()
    monkeypatch.setattr(sys, "breakpointhook", hook)
    return hook


def test_frames_and_arrays(seen: Seen) -> None:
    x = np.arange(10, dtype=np.float32)
    out = np.zeros_like(x)
    outer[(3,)](x, out, 10, BLOCK=4)
    assert out.tolist() == [0, 1, 2, 3, 10, 12.5, 15, 17.5, 8, 9]
    assert seen.programs == [(1, 0, 0)]
    (inner, caller) = seen.stops[0]
    name, line, local = inner
    assert name == "scaled" and line == line_of("    breakpoint()")
    assert set(local) == {"v", "factor", "w"} and local["factor"] == 2.5
    assert local["v"].dtype == np.float32 and local["v"].tolist() == [4, 5, 6, 7]
    assert local["w"].tolist() == [10, 12.5, 15, 17.5]
    name, line, local = caller
    assert name == "outer" and line == line_of("r = scaled(v, 2.5)")
    assert local["BLOCK"] == 4 and local["n"] == 10
    assert isinstance(local["pid"], np.int32) and local["pid"] == 1
    assert local["i"].dtype == np.int32 and local["i"].tolist() == [4, 5, 6, 7]
    assert local["x"] == x.ctypes.data  # a pointer is an address
    v, three, text = local["pair"]
    assert v.tolist() == [4, 5, 6, 7] and (three, text) == (3, "text")
    assert "r" not in local


@tegula.jit(interpret=True)
def kinds(x, at, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, 4))
    b = v.to(tl.bfloat16)
    e = v.to(tl.float8e5)
    h = v.to(tl.float16)
    d = v.to(tl.float64)
    m = v > 1.5
    u = v.to(tl.uint8)
    grid = tl.reshape(v, (2, 2))
    row = tl.arange(0, 6)
    p = x + tl.arange(0, 4)
    word = B
    total = tl.sum(v, 0)
    for k in range(2):
        total += 1.0
        breakpoint()


def test_all_types_in_a_loop(seen: Seen) -> None:
    x = np.array([0, 1, 1.625, 3.3], np.float32)
    kinds[(1,)](x, 3, B=tl.float32)
    assert len(seen.stops) == 2
    a, b = (s[0][2] for s in seen.stops)
    assert a["k"] == 0 and b["k"] == 1 and a["total"] + 1 == b["total"]
    assert a["b"].dtype == np.float32 and a["b"].tolist() == [0, 1, 1.625, 3.296875]
    assert a["e"].dtype == np.float32 and a["e"].tolist() == [0, 1, 1.5, 3.5]
    assert a["h"].dtype == np.float16 and a["d"].dtype == np.float64
    assert a["m"].dtype == bool and a["m"].tolist() == [False, False, True, True]
    assert a["u"].dtype == np.uint8 and a["grid"].shape == (2, 2)
    assert a["row"].shape == (6,)
    assert (np.diff(a["p"].astype(np.int64)) == 4).all()
    assert repr(a["word"]) == "<tegula.language.float32>"
    a["v"][:] = 7  # a copy
    assert x[0] == 0


def scripted(commands: str, *args: Any) -> str:
    """What pdb says to the commands."""
    said = io.StringIO()

    def hook() -> None:
        session = pdb.Pdb(
            stdin=io.StringIO(commands), stdout=said, nosigint=True, readrc=False
        )
        session.use_rawinput = False
        session.set_trace(sys._getframe(1))

    before = sys.breakpointhook
    sys.breakpointhook = hook
    try:
        outer[(2,)](*args, BLOCK=4)
    finally:
        sys.breakpointhook = before
        sys.settrace(None)
    return said.getvalue()


def test_pdb() -> None:
    x = np.arange(8, dtype=np.float32)
    out = np.zeros_like(x)
    said = scripted(
        "p v\np w.sum()\nwhere\nup\np BLOCK, pid\np i\ncontinue\n", x, out, 8
    )
    assert "array([4., 5., 6., 7.], dtype=float32)" in said
    assert "55.0" in said and "array([4, 5, 6, 7], dtype=int32)" in said
    # as in Python: where it was written since 3.13, at the line behind it before
    stands = line_of("    breakpoint()") + (sys.version_info < (3, 13))
    assert f"{__file__}({stands})scaled()" in said
    assert f"{__file__}({line_of('r = scaled(v, 2.5)')})outer()" in said
    assert "-> r = scaled(v, 2.5)" in said and "(4, " in said
    assert out.tolist() == [0, 1, 2, 3, 10, 12.5, 15, 17.5]


def test_leaving_pdb() -> None:
    x = np.zeros(8, np.float32)
    import bdb

    with pytest.raises(bdb.BdbQuit):
        scripted("quit\n", x, x.copy(), 8)
    # and the next launch is as any
    out = np.zeros_like(x)
    assert "(Pdb)" in scripted("continue\n", x, out, 8)


def test_a_program_of_its_own(tmp_path: Path) -> None:
    """As a person meets it: TEGULA_INTERPRET=1 and commands on stdin."""
    path = tmp_path / "session.py"
    path.write_text(
        "import numpy as np\nimport tegula\nimport tegula.language as tl\n\n\n"
        "@tegula.jit\ndef kernel(x):\n    v = tl.load(x + tl.arange(0, 4)) + 1\n"
        "    breakpoint()\n    tl.store(x + tl.arange(0, 4), v)\n\n\n"
        "x = np.zeros(4)\nkernel[(1,)](x)\nprint(x)\n"
    )
    import os

    environment = {
        **os.environ,
        "TEGULA_INTERPRET": "1",
        "TEGULA_CACHE_DIR": str(tmp_path),
    }
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    run = subprocess.run(
        [sys.executable, str(path)],
        input="p v * 10\nc\n",
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert "array([10., 10., 10., 10.])" in run.stdout and "[1. 1. 1. 1.]" in run.stdout
    assert "kernel()" in run.stdout and "-> tl.store(" in run.stdout


@tegula.jit(interpret=True)
def printing(x, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    print("v is", v, N)
    print(tl.sum(v, 0), (v > 1, tl.int32))
    tl.device_print("as ever", tl.sum(v, 0))


def test_print() -> None:
    x = np.arange(4, dtype=np.float32)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        printing[(1,)](x, N=4)
    lines = said.getvalue().splitlines()
    assert lines[0] == "v is [0. 1. 2. 3.] 4"
    assert lines[1].startswith("6.0 (array([False, False,  True,  True])")
    big = np.arange(4096, dtype=np.float32)
    with contextlib.redirect_stdout(said := io.StringIO()):
        printing[(1,)](big, N=4096)
    assert "..." not in said.getvalue() and "4.094e+03" in said.getvalue()


@tegula.jit(interpret=True)
def broken(x):
    v = tl.load(x)
    breakpoint()
    tl.store(x, v)


def test_exceptions_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def hook() -> None:
        raise LookupError("of the hook")

    monkeypatch.setattr(sys, "breakpointhook", hook)
    with pytest.raises(LookupError, match="of the hook"):
        broken[(4,)](np.zeros(1))


@tegula.jit
def guarded(x, DEBUG: tl.constexpr):
    if DEBUG:
        breakpoint()
    tl.store(x, 1.0)


def test_compiled_targets() -> None:
    x = np.zeros(1, np.float32)
    guarded[(1,)](x, DEBUG=False)  # compiled away
    assert x[0] == 1
    for target in ("cpu", "emu:sm_80", "cuda:sm_80"):
        with pytest.raises(tegula.CompileError, match="interpret=True"):
            guarded.compile("*fp32", DEBUG=True, target=target)


def test_jit_interpret(seen: Seen) -> None:
    assert outer.interpret and not scaled.interpret
    x = np.zeros(4, np.float32)
    compiled = outer[(1,)](x, x.copy(), 4, BLOCK=4)
    assert set(compiled.asm) == {"tir", "interp"}
    assert "debug" in compiled.asm["tir"]
