"""An edit of anything that a kernel reads: never the old kernel.

Each way of edits.py, edits_unseen.py and edits_more.py is run with one value and then
with another: by a second process that shares the cache on disk, by a module that is loaded
again in this process, and by a change in place, where the answer is the new value or an
error that says what changed.
"""

from __future__ import annotations

import builtins
import decimal
import importlib.util
import json
import linecache
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from edits_held import WAYS, Way

import tegula
import tegula.language as tl

assert len({w.name for w in WAYS}) == len(WAYS)
KINDS = [(w, edit) for w in WAYS for edit in w.edits]
assert len(KINDS) + 2 * len(WAYS) >= 2200


MODULES = tl, tl.math, tl.core


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Its cache is this test's own; what a way has set of the system is undone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(sys, "argv", sys.argv[:])
    limit, names = sys.getrecursionlimit(), [set(dir(m)) for m in MODULES]
    with (
        tegula.knobs.cache.scope(),
        decimal.localcontext(),
        np.printoptions(),
    ):
        tegula.knobs.cache.dir = str(tmp_path / "cache")
        yield tmp_path
    sys.setrecursionlimit(limit)
    for m, before in zip(MODULES, names, strict=True):
        for name in set(dir(m)) - before:
            delattr(m, name)


def text_of(way: Way, v: int) -> str:
    return way.source.replace("@V@", str(v))


def expected(way: Way) -> tuple[int, int]:
    """What it stores with 1 and with 5."""
    return (0, 1) if way.name in ("dtype", "sign of zero") else (1, 5)


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def reload(module: ModuleType) -> None:
    """What importlib.reload does, for a file that is in no folder of sys.path."""
    assert module.__spec__ and module.__spec__.loader
    module.__spec__.loader.exec_module(module)


def launch(module: ModuleType) -> int:
    out = np.zeros(1, np.int32)
    if hasattr(module, "launch"):
        module.launch(out)
    else:
        module.kernel[(1,)](out)
    return int(out[0])


def write(file: Path, text: str) -> None:
    """Python finds a file changed by its time and size; these may agree."""
    file.write_text(text)
    linecache.checkcache(str(file))


@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.name)
def test_reloaded(way, folder):
    """As an editor leaves it: the module's file is another, and it is loaded again."""
    file = folder / "edited.py"
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        write(file, text_of(way, 1))
        module = load(file)
        was, now = expected(way)
        assert launch(module) == was
        write(file, text_of(way, 5))
        reload(module)
        assert launch(module) == now
        write(file, text_of(way, 1))
        reload(module)
        assert launch(module) == was
    finally:
        sys.dont_write_bytecode = before
        sys.modules.pop("edited", None)


@pytest.mark.parametrize(("way", "edit"), KINDS, ids=lambda x: getattr(x, "name", x))
def test_changed_in_place(way, edit, folder):
    file = folder / "edited.py"
    write(file, text_of(way, 1))
    module = load(file)
    was, now = expected(way)
    try:
        assert launch(module) == was
        assert launch(module) == was
        exec(compile(edit, "<an edit>", "exec"), module.__dict__)
        try:
            assert launch(module) == now
        except RuntimeError as e:
            assert "when the kernel kernel() was compiled, and is" in str(e)
        again = load(file)  # the file is what it was
        assert launch(again) == was
    finally:
        sys.modules.pop("edited", None)


CHILD = """
import json, sys
sys.dont_write_bytecode = True
sys.path[:0] = [{here!r}]
from pathlib import Path
from test_edits import WAYS, launch, load, text_of, write
found, v = {{}}, int(sys.argv[1])
for i, way in enumerate(WAYS):
    file = Path({folder!r}, f"way{{i}}.py")
    write(file, text_of(way, v))
    found[way.name] = launch(load(file))
print(json.dumps(found))
"""


def test_another_process(folder):
    """All of them, before and after; the files stand where they stood."""
    script = folder / "all.py"
    script.write_text(CHILD.format(here=os.path.dirname(__file__), folder=str(folder)))
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        "TEGULA_CACHE_DIR": str(folder / "cache"),
        "TEGULA_TARGET": "cpu",
    }
    for i, v in enumerate((1, 5, 1)):
        done = subprocess.run(
            [sys.executable, str(script), str(v)],
            env=env,
            capture_output=True,
            text=True,
        )
        assert not done.returncode, done.stderr[-2000:]
        found = json.loads(done.stdout.splitlines()[-1])
        for way in WAYS:
            want = expected(way)[i % 2]
            assert found[way.name] == want, way.name


# ---- the language -----------------------------------------------------------------------


@tegula.jit
def mine(a, b):
    return a * 0 + b * 0 + 5


def made():
    @tegula.jit
    def kernel(out):
        tl.store(out, tl.minimum(1, tl.program_id(0) + 3))

    return kernel


def run(kernel) -> int:
    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    return int(out[0])


def test_a_function_of_the_language_is_patched(monkeypatch):
    kernel = made()
    assert run(kernel) == 1
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(tl, "minimum", mine)
            assert run(kernel) == 5
        assert run(kernel) == 1
        with monkeypatch.context() as patch:
            patch.setitem(vars(tl), "minimum", tl.maximum)
            assert run(kernel) == 3
        assert run(kernel) == 1


def test_a_name_of_the_language_is_deleted(monkeypatch):
    kernel = made()
    assert run(kernel) == 1
    with monkeypatch.context() as patch:
        patch.delattr(tl, "minimum")
        with pytest.raises((RuntimeError, tegula.CompileError), match="minimum"):
            run(kernel)
    assert run(kernel) == 1


def test_a_builtin_is_patched(monkeypatch):
    @tegula.constexpr_function
    def c():
        return len([0])

    @tegula.jit
    def kernel(out):
        tl.store(out, c())

    assert run(kernel) == 1
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "len", lambda x: 5)
        assert run(kernel) == 5
    assert run(kernel) == 1


def test_the_language_is_rebound(monkeypatch):
    kernel = made()
    assert run(kernel) == 1
    other = ModuleType("other")
    vars(other).update(store=tl.store, program_id=tl.program_id, minimum=tl.maximum)
    monkeypatch.setitem(kernel.__globals__, "tl", other)
    assert run(kernel) == 3


def test_a_kernel_of_the_language_is_patched(monkeypatch):
    """What tl.softmax calls is a name of another module of the language."""

    @tegula.jit
    def divide(a, b, rounding):
        return a * 0 + b * 0 + 5

    @tegula.jit
    def kernel(out):
        x = tl.softmax(tl.arange(0, 2).to(tl.float32))
        tl.store(out, tl.max(x, 0).to(tl.int32))

    assert run(kernel) == 0
    monkeypatch.setattr(tl.standard, "fdiv", divide)
    assert run(kernel) == 5


def test_launches_do_not_look_at_the_language():
    """Where nobody has the dict of its modules or a kernel's function, nothing is asked
    of them: a launch compares a number."""
    script = """
import numpy as np, tegula, tegula.language as tl, tegula._core as core
dir(tl), tl.minimum, hasattr(tl, "nothing")
@tegula.jit
def kernel(out):
    tl.store(out, tl.minimum(1, tl.program_id(0) + 3))
out = np.zeros(1, np.int32)
kernel[(1,)](out)
before = core._n_edits()
for _ in range(3):
    kernel[(1,)](out)
kernel.signature, kernel.params, kernel.src, kernel.cache_key, kernel.arg_names
assert core._n_edits() == before
kernel.fn
assert core._n_edits() == before + 1
kernel.fn
assert core._n_edits() == before + 1
tl.new = 1
assert core._n_edits() == before + 2
vars(tl)
assert core._n_edits() == before + 3
vars(tl)
assert core._n_edits() == before + 3
"""
    env = {**os.environ, "PYTHONPATH": str(Path(tegula.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", _in_a_file(script)], env=env, check=True)


def _in_a_file(script: str) -> str:
    """A kernel wants its source: linecache has it."""
    return f"""
import linecache
text = {script!r}
linecache.cache["<script>"] = (len(text), None, text.splitlines(True), "<script>")
exec(compile(text, "<script>", "exec"), dict(__name__="__main__"))
"""


def test_an_edit_before_the_first_launch():
    """The decorator has read it: the kernel is what stood there, or an error."""

    @tegula.jit
    def kernel(out, n: tl.constexpr = 1):
        tl.store(out, n)

    kernel.fn.__defaults__ = (5,)
    with pytest.raises(
        tegula.CompileError, match=r"'kernel.__defaults__' was \(1,\) .* is \(5,\)"
    ):
        run(kernel)
    kernel.fn.__defaults__ = (1,)
    assert run(kernel) == 1


def test_what_is_no_edit_of_a_function():
    """Another __doc__ or attribute, equal defaults: the kernel is not compiled again."""

    @tegula.jit
    def kernel(out, n: tl.constexpr = 1):
        tl.store(out, n)

    assert run(kernel) == 1
    fn = kernel.fn
    fn.__doc__, fn.mine, fn.__defaults__ = "text", 3, (True * 1,)
    fn.__annotations__ = dict(fn.__annotations__)
    assert run(kernel) == run(kernel) == 1
    assert len(kernel.variants) == 1
