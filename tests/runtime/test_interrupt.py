"""Ctrl-C in compiles and launches, and processes that end while they compile.

interrupt.py times the first by hand; here everything has to be answered, at whatever time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tegula
import tegula.language as tl

HEAD = """
import sys, threading, time
import tegula, tegula.language as tl
from tegula.compat.compiler import ASTSource, GPUTarget

tegula.knobs.cache.dir = ""


@tegula.jit
def unrolls(x, N: tl.constexpr):
    a = tl.load(x)
    for i in tl.static_range(N):
        a = a * i + tl.load(x + i)
    tl.store(x, a)


def compiles(target, n):
    # One after the other, so that the end comes in the midst of one, wherever it is.
    while True:
        source = ASTSource(unrolls, {"x": "*i32", "N": "constexpr"}, {"N": n})
        tegula.compile(source, target=target)
        n += 1


def begin(target, n):
    threading.Thread(target=compiles, args=(target, n), daemon=True).start()
"""
EXITS = {
    "a CPU": "begin(GPUTarget('cpu', 0, 1), 300); time.sleep(0.7)",
    "a GPU": "begin(GPUTarget('cuda', 80, 32), 100); time.sleep(0.7)",
    "several": "for n in 1, 2, 3: begin(GPUTarget('cpu', 0, 1), 200 * n)\ntime.sleep(0.7)",
}


def run(*args: str | Path, tmp: Path) -> subprocess.CompletedProcess[str]:
    path = str(Path(tegula.__file__).parents[1])
    return subprocess.run(
        [sys.executable, *args],
        env={
            **os.environ,
            "PYTHONPATH": path,
            "TMPDIR": str(tmp),
            "PYTHONWARNINGS": "ignore",
        },
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("what", EXITS)
def test_exit_while_a_thread_compiles(what: str, tmp_path: Path) -> None:
    """Nobody waits for the compile, no child and no file is left, and nothing crashes."""
    script = tmp_path / "script.py"
    script.write_text(f"{HEAD}\n{EXITS[what]}\n", encoding="utf-8")
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    done = run(script, tmp=tmp)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp.iterdir()) == []


@pytest.mark.slow
def test_interrupted(tmp_path: Path) -> None:
    """Each is answered: the kernels that it ends would run for centuries."""
    done = run(Path(__file__).with_name("interrupt.py"), "33", "1", tmp=tmp_path)
    assert done.stderr == "" and "all " in done.stdout


class Asked(type):
    def __getattr__(cls, name: str) -> object:
        raise KeyboardInterrupt if name == "__globals__" else AttributeError(name)


class Numbers(metaclass=Asked):
    N = 3


CONSTANTS = tl.constexpr(Numbers)


@tegula.jit
def reads_of_a_class(x):
    tl.store(x, CONSTANTS.N)


def test_ctrl_c_in_a_look_at_what_a_kernel_reads() -> None:
    """Python's code may run when an object is asked for what it does not have."""
    with pytest.raises(KeyboardInterrupt):
        reads_of_a_class.compile("*i32", target="cpu")


@tegula.jit
def stores_one(x):
    tl.store(x, 1)


def test_a_module_is_not_asked_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its __getattr__ is Python's code, a hundred times slower than a look at a name."""
    asked: list[str] = []
    monkeypatch.setattr(tl, "__getattr__", asked.append)
    stores_one.compile("*i32", target="cpu")
    assert "__globals__" not in asked
