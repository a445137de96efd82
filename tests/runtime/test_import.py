"""What `import tegula` must not cost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tegula

CODE = """
import sys
before = set(sys.modules)
import tegula, tegula.language
came = set(sys.modules) - before
slow = {"subprocess", "tempfile", "shutil", "importlib.abc", "ast", "inspect", "json"}
slow |= {"copy", "pathlib", "dataclasses", "html", "tegula.tuning"}
slow |= {"tegula.compat.compiler"}
print(*sorted({"torch", "numpy", "triton", "matplotlib", *slow} & came))
own = [m for n, m in sys.modules.items() if n in came and n.startswith("tegula")]
files = [m.__file__ for m in own if m.__file__.endswith(".py")]
print(sum(len(open(f, "rb").read()) for f in files))
"""


def run(code: str) -> list[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(tegula.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    return done.stdout.split("\n")


def test_import_pulls_in_nothing_heavy():
    assert run(CODE)[0] == ""


def test_import_reads_little_of_ours():
    """Bytes of source: where there is no bytecode, 10,000 are parsed in a millisecond."""
    assert int(run(CODE)[1]) < 290_000


def test_the_language_comes_without_libdevice():
    said = run(
        "import sys, tegula.language as tl\n"
        "print([m for m in sys.modules if 'libdevice' in m])\n"
        "print(tl.math.acos.__module__)"
    )
    assert said[0] == "[]" and "libdevice" in said[1]


CALLS = """
import sys
n_calls = 0

def count(frame, event, argument):
    global n_calls
    n_calls += event in ("call", "c_call")

sys.setprofile(count)
import tegula, tegula.language
sys.setprofile(None)
print(n_calls)
"""
SECONDS = """
import time
start = time.process_time()
import tegula
print(time.process_time() - start)
"""


def test_import_runs_little_python():
    """Counted, not timed: `import numpy` has 146,000; the bar is half of its time."""
    assert int(run(CALLS)[0]) < 26_000


def test_import_is_quick():
    from tegula import _core

    if "address" in _core.build or "thread" in _core.build:
        pytest.skip("a sanitizer's run-time costs more than the bound")
    # For what is not Python: LLVM that is set up while importing, say. Ten times what it
    # takes, as nobody knows how slow and how busy the machine is.
    assert min(float(run(SECONDS)[0]) for _ in range(3)) < 0.5


def test_import_without_a_home():
    """In a container whose user is in no table: nothing is kept on disk."""
    code = """
import os, pwd
for name in ("HOME", "XDG_CACHE_HOME", "TRITON_HOME"):
    os.environ.pop(name, None)
for name in ("TEGULA_CACHE_DIR", "TRITON_CACHE_DIR"):
    os.environ.pop(name, None)
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown
import tegula
print(repr(tegula.knobs.cache.dir))
"""
    assert run(code)[0] == "''"


def test_two_imports_give_two_modules():
    code = """
import sys, importlib
import tegula._core as a
del sys.modules["tegula._core"]
b = importlib.import_module("tegula._core")
print(a is b, a.build == b.build)
"""
    assert run(code)[0] == "False True"


def test_only_the_entry_point_is_visible():
    from tegula import _core

    if "address" in _core.build or "thread" in _core.build:
        pytest.skip("sanitizers show symbols of their own")
    out = subprocess.run(
        ["nm", "-D", "--defined-only", _core.__file__],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    # A small letter is a local symbol: gold lists those of thread-local storage.
    symbols = [line.split()[-2:] for line in out.splitlines()]
    assert [name for kind, name in symbols if kind.isupper()] == ["PyInit__core"]
