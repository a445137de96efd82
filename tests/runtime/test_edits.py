"""An edit of anything that a kernel reads: never the old kernel.

Each way of edits.py and edits_unseen.py is run with one value and then with another: by a
second process that shares the cache on disk, by a module that is loaded again in this
process, and by a change in place, where the answer is the new value or an error that says
what changed.
"""

from __future__ import annotations

import importlib.util
import json
import linecache
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from edits_unseen import WAYS, Way

import tegula

assert len({w.name for w in WAYS}) == len(WAYS)
KINDS = [(w, edit) for w in WAYS for edit in w.edits]
assert len(KINDS) + 2 * len(WAYS) >= 900


@pytest.fixture
def folder(tmp_path):
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path / "cache")
        yield tmp_path


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
found = {{}}
for i, way in enumerate(WAYS):
    file = Path({folder!r}, f"way{{i}}.py")
    write(file, text_of(way, int(sys.argv[1])))
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
