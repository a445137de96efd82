"""Signals while a kernel runs: handlers run in the midst of it; they raise, launch, fork.

Each is a script in a process of its own. Nothing is timed: who sends a signal waits until
the kernel has written that it runs, and kernels run until they are told to end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from itertools import product
from pathlib import Path

import pytest

import tegula

HEAD = """
import faulthandler, os, signal, sys, threading, time
import numpy as np
import tegula
import tegula.language as tl

tegula.knobs.cache.dir = ""
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
faulthandler.dump_traceback_later(500, exit=True)  # it hangs


@tegula.jit
def until(go, runs):
    tl.atomic_add(runs, 1)
    while tl.load(go, volatile=True) == 0:
        pass


@tegula.jit
def count(runs):
    tl.atomic_add(runs, 1)


@tegula.jit
def turns(n, runs):
    tl.atomic_add(runs, 1)
    for i in range(n):
        tl.debug_barrier()


@tegula.jit
def blocks(n, x, runs):
    tl.atomic_add(runs, 1)
    acc = tl.zeros((64,), tl.float32)
    for i in range(n):
        for j in range(4):
            acc += tl.load(x + tl.arange(0, 64))
    tl.store(x + tl.arange(0, 64), acc)


go, runs = np.zeros(1, np.int32), np.zeros(1, np.int32)


def when_it_runs(do):
    def wait():
        while not runs[0]:
            time.sleep(0.001)
        do()

    runs[0] = go[0] = 0
    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def sends(number):
    return lambda: os.kill(os.getpid(), number)


def must_raise(kind, launch):
    try:
        launch()
    except kind:
        return
    raise SystemExit("no " + kind.__name__)


def works():
    x = np.zeros(1, np.int32)
    count[(500,)](x)
    assert x[0] == 500


def in_child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(300)
        work()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


works()
"""
SCRIPTS = {
    "ctrl-c": """
        when_it_runs(sends(signal.SIGINT))
        must_raise(KeyboardInterrupt, lambda: until[(5,)](go, runs))
        works()
        when_it_runs(sends(signal.SIGINT))
        must_raise(KeyboardInterrupt, lambda: until[(1,)](go, runs))
        works()
        when_it_runs(sends(signal.SIGINT))
        must_raise(KeyboardInterrupt, lambda: count[(2**31 - 1, 2**9)](runs))
        works()
    """,
    "ctrl-c in a for": """
        x = np.zeros(64, np.float32)
        when_it_runs(sends(signal.SIGINT))
        must_raise(KeyboardInterrupt, lambda: turns[(5,)](2**62, runs))
        works()
        when_it_runs(sends(signal.SIGINT))
        must_raise(KeyboardInterrupt, lambda: blocks[(5,)](2**62, x, runs))
        works()
    """,
    "an exception of the user's": """
        class Late(Exception):
            pass

        def handler(*_):
            raise Late

        signal.signal(signal.SIGALRM, handler)
        when_it_runs(lambda: signal.setitimer(signal.ITIMER_REAL, 0.001))
        must_raise(Late, lambda: until[(5,)](go, runs))
        works()
    """,
    "handlers that return": """
        seen = []

        def handler(*_):
            works()
            in_child(works)
            seen.append(threading.current_thread() is threading.main_thread())
            go[0] = len(seen) == 3

        def thrice():
            for k in range(3):
                os.kill(os.getpid(), signal.SIGUSR1)
                while len(seen) == k:
                    time.sleep(0.001)

        signal.signal(signal.SIGUSR1, handler)
        when_it_runs(thrice)
        until[(5,)](go, runs)
        assert seen == [True] * 3 and runs[0] == 5
        works()
    """,
    "a child that returns from its handler": """
        main = os.getpid()

        def handler(*_):
            go[0] = 1
            pid = os.fork()
            if pid:
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

        signal.signal(signal.SIGUSR1, handler)
        when_it_runs(sends(signal.SIGUSR1))
        try:
            until[(5,)](go, runs)
        except tegula.TegulaError as e:
            assert os.getpid() != main and "forked" in str(e)
        works()
        if os.getpid() != main:
            os._exit(7)
    """,
    "a fork of another thread": """
        forking = when_it_runs(lambda: (in_child(works), go.fill(1)))
        until[(5,)](go, runs)
        assert runs[0] == 5
        forking.join()
        works()
    """,
    "launches of another thread": """
        runs[0] = go[0] = 0
        thread = threading.Thread(target=lambda: until[(5,)](go, runs))
        thread.start()
        try:
            while not runs[0]:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(300)
        except KeyboardInterrupt:
            pass
        works()
        assert thread.is_alive()
        go[0] = 1
        thread.join()
        assert runs[0] == 5
    """,
    "an exit while a thread runs on": """
        runs[0] = go[0] = 0
        threading.Thread(target=lambda: until[(5,)](go, runs), daemon=True).start()
        while not runs[0]:
            time.sleep(0.001)
    """,
}
TARGETS = {
    "cpu": {"TEGULA_NUM_THREADS": "3"},
    "one thread": {"TEGULA_NUM_THREADS": "1"},
    "emu": {"TEGULA_NUM_THREADS": "3", "TEGULA_TARGET": "emu:sm_80"},
    "interpreter": {"TEGULA_INTERPRET": "1"},
}


@pytest.mark.parametrize(("what", "target"), product(SCRIPTS, TARGETS))
def test_signals(what: str, target: str, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(HEAD + textwrap.dedent(SCRIPTS[what]), encoding="utf-8")
    path = str(Path(tegula.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, file],
        env={**os.environ, "PYTHONPATH": path, **TARGETS[target]},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
