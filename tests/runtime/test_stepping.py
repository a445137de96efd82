"""Kernels of the interpreter line by line: pdb with commands on its stdin, sys.settrace,
and what a failing kernel leaves for a post-mortem."""

from __future__ import annotations

import bdb
import io
import os
import pdb
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def at(text: str) -> int:
    """The line that ends with the comment `# text`."""
    return next(n for n, t in enumerate(LINES, 1) if t.endswith(f"# {text}"))


@tegula.jit
def scaled(v, factor):  # scaled
    """A helper."""
    w = v * factor  # w =
    if factor > 0:  # if factor
        w += 1  # w +=
    return w  # return w


@tegula.jit(interpret=True)
def kernel(x, out, n, BLOCK: tl.constexpr):  # kernel
    pid = tl.program_id(0)  # pid
    i = pid * BLOCK + tl.arange(0, BLOCK)  # i =
    v = tl.load(x + i, i < n, 0.0)  # v =
    acc = tl.zeros((BLOCK,), tl.float32)  # acc =
    for k in range(2):  # for k
        acc += scaled(v, k)  # acc +=
    tl.store(out + i, acc, i < n)  # store


def launch() -> np.ndarray:
    x = np.arange(8, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(2,)](x, out, 8, BLOCK=4)  # launch
    return out  # out


def one() -> np.ndarray:
    x = np.arange(4, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(1,)](x, out, 4, BLOCK=4)  # one
    return out


class Session:
    """pdb, given commands; said: its answer to each."""

    def __init__(self, commands: str, run: Callable[[], Any]) -> None:
        given = [c.strip() for c in commands.split(";")]
        bdb.Breakpoint.clearBreakpoints()  # of earlier sessions: pdb keeps them
        out = io.StringIO()
        session = pdb.Pdb(
            stdin=io.StringIO("\n".join(given) + "\n"),
            stdout=out,
            nosigint=True,
            readrc=False,
        )
        session.use_rawinput = False
        self.result = None
        try:
            self.result = session.runcall(run)
        finally:
            sys.settrace(None)
            answers = out.getvalue().split("(Pdb) ")[1:]
            self.said = [a.strip() for a in answers]

    def where(self, i: int) -> tuple[str, int]:
        """Function and line that command i led to."""
        found = re.findall(r"^> .*\((\d+)\)([\w<>]+)\(\)", self.said[i], re.M)
        assert found, self.said[i]
        line, name = found[-1]
        return name, int(line)


def to_launch() -> str:
    return f"tbreak {HERE}:{at('one')}; c;"


def test_step_into_next_and_over() -> None:
    s = Session(to_launch() + "s; s; n; n; n; n; n; n; n; n; n; c", one)
    assert "--Call--" in s.said[2]
    assert [s.where(i) for i in range(2, 13)] == [
        ("kernel", at("kernel")),
        ("kernel", at("pid")),
        ("kernel", at("i =")),
        ("kernel", at("v =")),
        ("kernel", at("acc =")),
        ("kernel", at("for k")),
        ("kernel", at("acc +=")),
        ("kernel", at("for k")),
        ("kernel", at("acc +=")),
        ("kernel", at("for k")),
        ("kernel", at("store")),
    ]
    assert s.result.tolist() == [1, 2, 3, 4]


def test_helpers_have_frames() -> None:
    go = to_launch() + f"b {at('acc +=')}; c; s; s; p v, factor; w; n; n; p w; "
    s = Session(go + "u; p k, BLOCK, acc.shape; d; r; s; cl 2; c", one)
    assert s.where(3) == ("kernel", at("acc +="))
    assert "--Call--" in s.said[4] and s.where(4) == ("scaled", at("scaled"))
    assert s.where(5) == ("scaled", at("w ="))
    assert "array([0., 1., 2., 3.], dtype=float32)" in s.said[6]
    order = re.findall(r"\)(\w+)\(\)$", s.said[7], re.M)
    assert order[-3:] == ["one", "kernel", "scaled"]
    assert s.where(8) == ("scaled", at("if factor"))
    assert s.where(9) == ("scaled", at("return w"))  # factor is 0: a branch not taken
    assert s.said[10] == "array([0., 0., 0., 0.], dtype=float32)"
    assert s.where(11) == ("kernel", at("acc +="))
    assert s.said[12] == "(np.int32(0), 4, (4,))" or s.said[12] == "(0, 4, (4,))"
    assert "--Return--" in s.said[14] and "->array([" in s.said[14]
    assert s.where(15) == ("kernel", at("for k"))


def test_breakpoints() -> None:
    """At a line, under a condition, once, and of a function."""
    s = Session(
        f"b {HERE}:{at('acc +=')}, k == 1 and pid == 1; c; p pid, k; cl 1;"
        f"tbreak {HERE}:{at('store')}; c; b scaled; c",
        launch,
    )
    assert s.where(1) == ("kernel", at("acc +="))
    assert "1" in s.said[2] and "0" not in s.said[2].replace("np.int32", "")
    assert s.where(5) == ("kernel", at("store")) and "Deleted" in s.said[5]
    assert "Breakpoint" in s.said[6]
    s = Session("b scaled; c; c; cl 1; c", launch)
    assert s.where(1)[0] == s.where(2)[0] == "scaled"


def test_until_and_return() -> None:
    go = to_launch() + "s; s; until; until " + str(at("for k"))
    s = Session(go + "; n; until; until; r; c", one)
    assert s.where(4) == ("kernel", at("i ="))
    assert s.where(5) == ("kernel", at("for k"))
    assert s.where(6) == ("kernel", at("acc +="))
    assert s.where(7) == ("kernel", at("store"))  # not back to the loop
    assert "--Return--" in s.said[8] and s.where(8) == ("kernel", at("store"))


def test_list_and_locals() -> None:
    go = to_launch() + f"b {at('acc =')}; c; l; ll; pp locals(); p x; p x + 2; "
    s = Session(go + "whatis v; source scaled; cl 2; c", one)
    assert re.search(rf"{at('acc =')} B?\s*->", s.said[4])
    assert f"{at('kernel')}  \tdef kernel" in s.said[5] and "# store" in s.said[5]
    assert s.said[6].startswith("{'BLOCK': 4,\n")
    assert "'i': array([0, 1, 2, 3], dtype=int32)" in s.said[6]
    assert "'acc'" not in s.said[6]  # bare, it could be digits of an address
    first, third = (re.search("0x[0-9a-f]+", s.said[k]) for k in (7, 8))
    assert s.said[7].startswith("<pointer<float32> 0x")
    assert first and third and int(third[0], 16) - int(first[0], 16) == 8


def test_display() -> None:
    go = to_launch() + f"b {at('for k')}; c; display acc; n; n; n; n; cl 2; c"
    s = Session(go, one)
    assert s.said[4] == "display acc: array([0., 0., 0., 0.], dtype=float32)"
    assert "display" not in s.said[5]
    assert "display acc: array([0., 0., 0., 0.]" not in s.said[6]
    assert (
        "display acc: array([1., 2., 3., 4.], dtype=float32)  [old: array(["
        in s.said[8]
    )


def test_assignments_are_honoured() -> None:
    go = to_launch() + f"b {at('store')}; c; !acc = acc + 100; !acc[1] = -1; p acc; "
    go += "!n = 3; !BLOCK = 8; !mine = acc.sum(); p mine; cl 2; c"
    s = Session(go, one)
    assert s.said[6] == "array([101.,  -1., 103., 104.], dtype=float32)"
    assert "TypeError: BLOCK cannot be assigned: it is a constant" in s.said[8]
    assert "307.0" in s.said[10]
    assert s.result.tolist() == [101, -1, 103, 0]


@tegula.jit
def doubled(u):
    t = u  # t = u
    return t + u  # doubled


@tegula.jit(interpret=True)
def aliased(x, out, n):
    a = tl.load(x)
    b = a
    c = (a, n)
    d = n
    e = doubled(a)
    s = 0.0
    r = s
    for k in range(2):
        s += 1.0
        r += b  # r += b
    tl.store(out + 0, a)  # aliased
    tl.store(out + 1, b)
    tl.store(out + 2, c[0])
    tl.store(out + 3, d + n)
    tl.store(out + 4, e)
    tl.store(out + 5, r)


def test_variables_are_assigned_one_by_one() -> None:
    """Of y = x the one changes without the other, also in a helper and in a loop."""
    x = np.ones(1, np.float32)

    def run(commands: str) -> list[float]:
        out = np.zeros(6, np.float32)
        Session(commands, lambda: aliased[(1,)](x, out, 10))
        return out.tolist()

    stop = f"tbreak {HERE}:{at('aliased')}; c; "
    assert run("c") == [1, 1, 1, 20, 2, 2]
    assert run(stop + "!a = 5; c") == [5, 1, 1, 20, 2, 2]
    assert run(stop + "!b = 5; !d = 1; c") == [1, 5, 1, 11, 2, 2]
    assert run(stop + "!n = 5; c") == [1, 1, 1, 15, 2, 2]
    inside = f"tbreak {HERE}:{at('t = u')}; c; n; "
    assert run(inside + "!t = 7; c") == [1, 1, 1, 20, 8, 2]
    assert run(inside + "!u = 7; c") == [1, 1, 1, 20, 8, 2]
    again = f"b {HERE}:{at('r += b')}; c; !b = 4; c; !r = 10; c"
    assert run(again) == [1, 4, 1, 20, 2, 14]


def test_assigned_parameters_are_this_programs() -> None:
    s = Session(f"tbreak {HERE}:{at('i =')}; c; !n = 3; c", launch)
    assert s.result.tolist() == [1, 2, 3, 0, 5, 6, 7, 8]


@tegula.jit(interpret=True)
def narrow(x, out):
    b = tl.load(x + tl.arange(0, 4)).to(tl.bfloat16)
    e = b.to(tl.float8e5)
    i = b.to(tl.int8)
    m = b > 1
    s = tl.max(b, 0)
    tl.store(out + tl.arange(0, 4), tl.where(m, b, e.to(tl.float32) + i))  # narrow


@tegula.jit(interpret=True)
def prompted(x, e8, n):
    i = tl.program_id(0) * 4 + tl.arange(0, 4)
    p = x + i
    e = e8.to(tl.pointer_type(tl.float8e5))
    tl.store(x + i, tl.load(p) + 1)  # prompted


def test_the_language_at_the_prompt() -> None:
    """Where the program is, what lies in memory, NumPy for arithmetic."""
    x = np.arange(8, dtype=np.float32)
    e8 = np.array([0x3C, 0x40, 0xBC, 0], np.uint8)
    go = f"b {HERE}:{at('prompted')}; c; c; p tl.program_id(0), tl.num_programs(0); "
    go += "p tl.load(p); p tl.load(x + tl.arange(0, 4)); p tl.load(x); cl 1; "
    go += "p tl.load(p, i > 5, other=-1); p tl.load(e + tl.arange(0, 4)); "
    go += "p tl.where(i > 5, i, 0); p tl.load(x + 8); p tl.load(i); p tl.dot(i, i); c"
    s = Session(go, lambda: prompted[(2,)](x, e8, 8))
    assert re.sub(r"np\.int32\((\d)\)", r"\1", s.said[3]) == "(1, 2)"
    assert s.said[4] == "array([4., 5., 6., 7.], dtype=float32)"
    assert s.said[5] == "array([1., 2., 3., 4.], dtype=float32)"  # of program 0
    assert "1.0" in s.said[6]
    assert s.said[8] == "array([-1., -1.,  6.,  7.], dtype=float32)"
    assert s.said[9] == "array([ 1.,  2., -1.,  0.], dtype=float8e5)"
    assert s.said[10] == "array([0, 0, 6, 7], dtype=int32)"
    assert "IndexError: address 0x" in s.said[11] and "TypeError" in s.said[12]
    assert "tl.dot does not work at a debugger's prompt" in s.said[13]
    with pytest.raises(ValueError, match="outside of a kernel"):
        tl.program_id(0)


def test_types_without_a_twin() -> None:
    x = np.array([0, 1, 2, 3.3], np.float32)
    out = np.zeros_like(x)
    go = f"tbreak {HERE}:{at('narrow')}; c; p b; p e; p i; p m; p s; "
    go += "!b = [5, 1.001, 7, 8]; p b; !i = -300 + 256 * 2; !m = False; c"
    s = Session(go, lambda: narrow[(1,)](x, out))
    assert s.said[2].endswith("dtype=bfloat16)") and "3.296875" in s.said[2]
    assert s.said[3].endswith("3.5], dtype=float8e5)")
    assert "dtype=int8" in s.said[4] and "True" in s.said[5] and "3.296875" in s.said[6]
    assert s.said[8] == "array([5., 1., 7., 8.], dtype=bfloat16)"
    assert out.tolist() == [-44, -43, -42, -40.5]


def test_quitting_in_a_helper() -> None:
    s = Session(f"b {HERE}:{at('w =')}; c; q", launch)
    assert s.result is None and s.where(1) == ("scaled", at("w ="))
    assert launch().tolist() == [v + 1 for v in range(8)]


def test_a_kernel_cannot_jump(capsys: pytest.CaptureFixture[str]) -> None:
    s = Session(to_launch() + f"s; s; n; n; j {at('pid')}; n; c", one)
    assert s.where(7) == ("kernel", at("v ="))
    assert f"cannot jump: it is at line {at('v =')}" in capsys.readouterr().err
    assert s.result.tolist() == [1, 2, 3, 4]


# ---- every way through a function ----------------------------------------------------


@tegula.jit
def early(v):
    if v > 1:  # early if
        return v * 10  # early return
    v += 1  # late
    return v  # late return


@tegula.jit(interpret=True)
def ways(x, N: tl.constexpr):
    v = tl.load(x)  # ways
    a = early(v)  # a =
    for j in tl.static_range(2):  # static
        a += j  # a +=
    while a < 100:  # while
        a = a * 2  # a *
        if a > 30:  # if a
            break  # break
    for q in range(5):  # for q
        if q == 1:  # if q
            continue  # continue
        if q == 3:  # if q 3
            break  # break q
        a += 1  # a + 1
    if N > 3:  # if N
        a += 1  # constant
    b = (  # b =
        a  #
        + 1
    )
    f = lambda u: u + 1  # lambda
    c = f(b)  # call lambda
    tl.store(x, c)  # ways end


def trace(run: Callable[[], Any]) -> list[tuple[str, str, str]]:
    """(event, function, the comment of its line) of everything in this file."""
    seen = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != __file__:
            return None
        comment = LINES[frame.f_lineno - 1].rpartition("# ")[2]
        seen.append((event, frame.f_code.co_name, comment))
        return tracer

    sys.settrace(tracer)
    try:
        run()
    finally:
        sys.settrace(None)
    return seen


def test_lines_are_those_python_would_run() -> None:
    """The same function in Python, on numbers, goes the same way."""
    x = np.array([2.0], np.float32)
    seen = trace(lambda: ways[(1,)](x, N=2))
    lines = [c for e, f, c in seen if f == "ways" and e == "line"]
    assert lines == (
        ["ways", "a =", "static", "a +=", "static", "a +=", "static", "while", "a *"]
        + ["if a", "break", "for q", "if q", "if q 3", "a + 1", "for q", "if q"]
        + ["continue", "for q", "if q", "if q 3", "a + 1", "for q", "if q", "if q 3"]
        + ["break q", "if N", "b =", "lambda", "call lambda", "ways end"]
    )
    helper = [(e, c) for e, f, c in seen if f == "early"]
    assert helper[1:] == [
        ("line", "early if"),
        ("line", "early return"),
        ("return", "early return"),
    ]
    assert ("call", "<lambda>", "lambda") in seen
    assert x[0] == 46
    seen = trace(lambda: ways[(1,)](np.ones(1, np.float32), N=4))
    assert [c for e, f, c in seen if f == "early" and e == "line"] == [
        "early if",
        "late",
        "late return",
    ]
    assert ("line", "ways", "constant") in seen


@tegula.jit(interpret=True)
def holding(x, n):
    v = tl.load(x)  # holding

    def inner(u, more=2):  # def inner
        w = u + more  # w =

        def innermost(z):  # def innermost
            return z * w  # return z

        return innermost(u)  # return inner

    for _ in range(n):  # for
        v = inner(v)  # v =
    tl.store(x, v)  # holding ends


def test_functions_inside_of_kernels() -> None:
    """A def is a line that runs: a shadow without it would ask for it for ever."""
    x = np.array([2.0], np.float32)
    seen = trace(lambda: holding[(1,)](x, 2))
    lines = {f: [c for e, g, c in seen if g == f and e == "line"] for _, f, _ in seen}
    assert lines["holding"] == (
        ["holding", "def inner", "for", "v =", "for", "v =", "for", "holding ends"]
    )
    assert lines["inner"] == ["w =", "def innermost", "return inner"] * 2
    assert lines["innermost"] == ["return z"] * 2
    assert x[0] == 80


def test_call_and_return_events() -> None:
    values = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != __file__:
            return None
        if event == "return" and frame.f_code.co_name == "scaled":
            values.append(arg.tolist())
        if event == "call" and frame.f_code.co_name == "scaled":
            values.append(sorted(frame.f_locals))
        return tracer

    sys.settrace(tracer)
    try:
        launch()
    finally:
        sys.settrace(None)
    assert values[:4] == [
        ["factor", "v"],
        [0, 0, 0, 0],
        ["factor", "v"],
        [1, 2, 3, 4],
    ]
    assert len(values) == 8


def test_nothing_of_ours_is_traced() -> None:
    """From the launch into the kernel, compile included: no function in between."""

    @tegula.jit(interpret=True)
    def fresh(x):
        tl.store(x, 1.0)

    files = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        if event == "call":
            files.append((Path(frame.f_code.co_filename).name, frame.f_code.co_name))
        return tracer

    x = np.zeros(1, np.float32)
    sys.settrace(tracer)
    try:
        fresh[(1,)](x)
        fresh[(1,)](x)
    finally:
        sys.settrace(None)
    assert [f for f in files if f[0] != HERE.name] == []
    assert files.count((HERE.name, "fresh")) == 2


def test_a_frame_that_is_kept() -> None:
    """What reads its variables later finds none; nothing breaks."""
    kept = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_name == "scaled" and event == "line":
            kept.append(frame)
        return tracer

    sys.settrace(tracer)
    try:
        launch()
    finally:
        sys.settrace(None)
    assert kept and all(dict(f.f_locals) == {} for f in kept)
    with pytest.raises(KeyError):
        kept[0].f_locals["v"]


# ---- errors --------------------------------------------------------------------------


@tegula.jit
def reads(p, i):
    q = p + i
    return tl.load(q)  # reads


@tegula.jit(interpret=True)
def outside(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = reads(x, i)  # outside
    tl.store(x + i, v.to(tl.bfloat16).to(tl.float32))


def test_tracebacks_end_in_the_kernel() -> None:
    x = np.zeros(8, np.float32)
    with pytest.raises(tegula.InterpreterError, match=r"program \(2, 0, 0\)") as e:
        outside[(3,)](x, BLOCK=4)
    frames = traceback.extract_tb(e.value.__traceback__)
    assert [(f.name, f.lineno) for f in frames[-2:]] == [
        ("outside", at("outside")),
        ("reads", at("reads")),
    ]
    assert frames[-1].line == "return tl.load(q)  # reads"


def test_post_mortem() -> None:
    x = np.zeros(8, np.float32)
    with pytest.raises(tegula.InterpreterError) as e:
        outside[(3,)](x, BLOCK=4)
    out = io.StringIO()
    session = pdb.Pdb(
        stdin=io.StringIO("w\np i\npp locals()\nu\np BLOCK, i\np v\nq\n"),
        stdout=out,
        nosigint=True,
        readrc=False,
    )
    session.use_rawinput = False
    session.reset()
    session.interaction(None, e.value.__traceback__)
    said = out.getvalue().split("(Pdb) ")
    assert f"({at('reads')})reads()" in said[0]
    assert said[2].strip() == "array([ 8,  9, 10, 11], dtype=int32)"
    assert "dtype=pointer<float32>" in said[3]
    assert f"({at('outside')})outside()" in said[4]
    assert said[5].startswith("(4, array([ 8,") and "NameError" in said[6]


@tegula.jit(interpret=True, debug=True)
def asserting(x, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    tl.device_assert(v < 2, "too big")  # asserting


def test_asserts_name_line_program_and_element() -> None:
    with pytest.raises(tegula.InterpreterError, match="too big") as e:
        asserting[(1, 2)](np.arange(4, dtype=np.float32), BLOCK=4)
    assert "program (0, 0, 0), element 2" in str(e.value)
    last = traceback.extract_tb(e.value.__traceback__)[-1]
    assert (last.name, last.lineno) == ("asserting", at("asserting"))


def test_a_debugger_sees_the_exception_where_it_is() -> None:
    x = np.zeros(8, np.float32)
    seen = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        if event == "exception" and frame.f_code.co_filename == __file__:
            seen.append((frame.f_code.co_name, frame.f_locals.get("i") is not None))
        return tracer

    sys.settrace(tracer)
    try:
        with pytest.raises(tegula.InterpreterError):
            outside[(3,)](x, BLOCK=4)
    finally:
        sys.settrace(None)
    assert seen[:2] == [("reads", True), ("outside", True)]


# ---- around it -----------------------------------------------------------------------


@tegula.jit(interpret=True)
def stops(x):
    v = tl.load(x)
    breakpoint()
    tl.store(x, v + 1)  # stops


def test_launches_inside_of_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a breakpoint another kernel runs, and fails, and this one goes on."""
    inner = []

    def hook() -> None:
        inner.append(launch().tolist())
        with pytest.raises(tegula.InterpreterError):
            outside[(3,)](np.zeros(8, np.float32), BLOCK=4)
        frame = sys._getframe(1)
        inner.append(float(frame.f_locals["v"]))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    x = np.ones(1, np.float32)
    stops[(2,)](x)
    assert x[0] == 3 and inner[1::2] == [1.0, 2.0]
    assert inner[0] == [v + 1 for v in range(8)]


def test_other_threads_run_meanwhile() -> None:
    """A kernel that is stopped holds no lock: another thread launches."""
    import threading

    done = []

    def hook() -> None:
        t = threading.Thread(target=lambda: done.append(launch().tolist()))
        t.start()
        t.join(60)
        assert not t.is_alive()

    before = sys.breakpointhook
    sys.breakpointhook = hook
    try:
        stops[(1,)](np.ones(1, np.float32))
    finally:
        sys.breakpointhook = before
    assert len(done) == 1


def test_interrupting(tmp_path: Path) -> None:
    """Ctrl-C ends a kernel that runs on and on, and the traceback says where it was."""
    script = (
        "import numpy as np, signal, tegula, tegula.language as tl\n"
        "@tegula.jit(interpret=True)\n"
        "def forever(x):\n"
        "    tl.store(x, 1.0)\n"
        "    i = tl.load(x + 1)\n"
        "    while i < 1:\n"
        "        i = tl.load(x + 1)\n"
        "x = np.zeros(2)\n"
        "def tick(*args):\n"
        "    if x[0]:  # in the loop, however long it took to get there\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "        signal.default_int_handler(*args)\n"
        "signal.signal(signal.SIGALRM, tick)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)\n"
        "forever[(1,)](x)\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    program = tmp_path / "forever.py"
    program.write_text(script)
    run = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=600,
    )
    assert run.returncode and "KeyboardInterrupt" in run.stderr
    assert re.search(r"forever.py., line [567], in forever\n", run.stderr), run.stderr


@tegula.jit
def pick(a, b):  # pick
    c = a > b  # c =
    return tl.where(c, a, b)  # return pick


@tegula.jit
def counting(a, b):
    n = 0.0
    for _ in range(2):
        n += a + b
    return n / 2


@tegula.jit
def halves(v):
    if v > 1:
        return v / 2
    return v


@tegula.jit(interpret=True)
def combining(x):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    m = tl.reduce(v, 0, pick)  # m =
    s = tl.associative_scan(v, 0, pick)
    u = tl.softmax(v + 0 * tl.reduce(v, 0, counting))
    tl.store(x + i, s + m + 0 * tl.map_elementwise(halves, u))


def combine() -> list[float]:
    x = np.array([1, 3, 0, 2], np.float32)
    combining[(1,)](x)  # combining
    return x.tolist()


def test_combine_functions_are_entered_for_each_pair() -> None:
    s = Session(
        f"tbreak {HERE}:{at('combining')}; c; s; tbreak {at('m =')}; c; s; n; n; args; "
        "p c; w; !c = True; r; s; s; p a, b; c",
        combine,
    )
    assert s.where(5) == ("pick", at("pick"))
    assert s.where(7) == ("pick", at("return pick"))
    assert re.split(r"\s+", s.said[8]) == [
        "a", "=", "np.float32(1.0)", "b", "=", "np.float32(3.0)"
    ]  # fmt: skip
    assert s.said[9] == "np.False_"
    assert re.search(r"combining\(\).*pick\(\)", s.said[10], re.S)
    assert s.said[15] == "(np.float32(0.0), np.float32(2.0))"
    assert s.result == [3, 5, 5, 5]  # of 1 and 3 the first was made the larger


def test_combine_functions_in_a_trace() -> None:
    """What runs for whole blocks, and the functions of the language, are stepped over."""
    seen = trace(combine)
    assert {f for _, f, _ in seen} == {"combine", "combining", "pick"}
    calls = [f for event, f, _ in seen if event == "call"]
    assert calls.count("pick") == 3 + 3


def test_args() -> None:
    s = Session(to_launch() + f"s; args; tbreak {at('w +=')}; c; args; c", one)
    kernel_args = [line.split("=") for line in s.said[3].splitlines()]
    assert [a.strip() for a, _ in kernel_args] == ["x", "out", "n", "BLOCK"]
    assert [v.strip() for _, v in kernel_args[2:]] == ["np.int32(4)", "4"]
    assert re.findall(r"(?m)^(\w+) +=", s.said[6]) == ["v", "factor"]
    assert "array([0., 1., 2., 3.]" in s.said[6]
    assert s.result.tolist() == [1, 2, 3, 4]


def test_objects() -> None:
    """Tuples with names, descriptors and block pointers have fields."""
    seen: list[Any] = []
    before = sys.breakpointhook

    def hook() -> None:
        seen.append(dict(sys._getframe(1).f_locals))

    sys.breakpointhook = hook
    try:
        with_objects[(1,)](np.arange(16, dtype=np.float32), 4)
    finally:
        sys.breakpointhook = before
    (v,) = seen
    assert v["d"].block_shape == (2, 4) and v["d"].shape == (4, 4)
    assert [int(o) for o in v["p"].offsets] == [2, 0] and v["p"].base == v["x"]
    assert v["inf"] == float("inf") and repr(v["t"]) == "<tegula.language.float32>"
    assert v["pair"][0] == 4


@tegula.jit(interpret=True)
def with_objects(x, n):
    inf: tl.constexpr = float("inf")
    t: tl.constexpr = tl.float32
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [2, 4])
    p = tl.make_block_ptr(x, (4, 4), (4, 1), (0, 0), (2, 4), (1, 0))
    p = tl.advance(p, (2, 0))
    pair = (n, d)
    breakpoint()
    tl.store(x, d.load([0, 0]).sum() + tl.load(p).sum())
