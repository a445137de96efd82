"""Files in the cache that are not what they seem: none is believed, none holds us up."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from test_disk import files, folder, launch, make

import tegula
from tegula import cache
from tegula.runtime.build import compile_module_from_src

__all__ = ["folder"]

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nobody_else_may_read_or_write(folder):
    before = os.umask(0)
    try:
        launch(make())
    finally:
        os.umask(before)
    (path,) = files(folder)
    assert mode(path) == 0o600
    assert mode(path.parent) == mode(path.parent.parent) == 0o700


def refused(folder: Path) -> None:
    """One warning for the process's module; and kernels are right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert not launch(make()).metadata.from_disk


@pytest.mark.parametrize("bits", [0o020, 0o002, 0o666])
@pytest.mark.parametrize("what", ["file", "directory", "root"])
def test_what_others_may_write_is_refused(folder, what, bits):
    launch(make())
    (path,) = files(folder)
    at = {"file": path, "directory": path.parent, "root": path.parent.parent}[what]
    at.chmod(mode(at) | bits)
    refused(folder)


@AS_ROOT
@pytest.mark.parametrize("what", ["file", "directory", "root"])
def test_what_another_user_owns_is_refused(folder, what):
    launch(make())
    (path,) = files(folder)
    at = {"file": path, "directory": path.parent, "root": path.parent.parent}[what]
    os.chown(at, 12345, 12345)
    refused(folder)


def test_one_warning_says_so(folder, tmp_path):
    launch(make())
    (path,) = files(folder)
    path.parent.parent.chmod(0o777)
    script = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "from test_disk import launch, make\n"
        "print([launch(make()).metadata.from_disk for _ in range(3)])\n"
    )
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        "TEGULA_CACHE_DIR": str(folder),
        "TEGULA_TARGET": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[False, False, False]"
    assert done.stderr.count("are not used: another user owns them") == 1


@pytest.mark.parametrize(
    "what", ["fifo", "link", "sparse", "directory", "socket", "loop"]
)
def test_no_file_of_ours(folder, what):
    launch(make())
    (path,) = files(folder)
    good = path.read_bytes()
    elsewhere = folder / "elsewhere"
    path.rename(elsewhere)
    if what == "fifo":
        os.mkfifo(path, 0o600)
    elif what == "link":
        path.symlink_to(elsewhere)
    elif what == "loop":
        path.symlink_to(path)
    elif what == "sparse":
        path.write_bytes(good)
        os.truncate(path, 3 << 30)
        path.chmod(0o600)
    elif what == "directory":
        path.mkdir()
    elif what == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    start = time.monotonic()
    assert not launch(make()).metadata.from_disk
    list(cache.entries())
    assert time.monotonic() - start < 20  # it hung, or read three gigabytes
    if what != "directory":
        assert path.is_file() and path.read_bytes() == good
        assert launch(make()).metadata.from_disk


def test_a_linked_directory_is_refused(folder):
    launch(make())
    (path,) = files(folder)
    path.parent.rename(folder / "elsewhere")
    path.parent.symlink_to(folder / "elsewhere")
    assert not launch(make()).metadata.from_disk


WRITER = """
import os, signal, sys
sys.path.insert(0, {here!r})
import ctypes
from test_disk import launch, make
if {n} >= 0:  # the disk is full so far in: the writer gets a signal there
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, ({n}, {n}))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
launch(make())
"""


@pytest.mark.parametrize("n", [0, 1, 79, 80, 81, 1000, 4000])
def test_a_writer_is_killed(folder, n):
    """In the midst of a write, by a signal that it cannot catch any more than kill -9."""
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        "TEGULA_CACHE_DIR": str(folder),
        "TEGULA_TARGET": "cpu",
    }
    script = WRITER.format(here=os.path.dirname(__file__), n=n)
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True)
    assert done.returncode == -signal.SIGXFSZ
    left = list(folder.glob("v2/*/.new-*"))
    assert len(left) == 1 and not files(folder)
    assert not launch(make()).metadata.from_disk
    assert launch(make()).metadata.from_disk
    cache.prune()
    assert left[0].exists()  # it may be at work yet
    os.utime(left[0], (1, 1))
    cache.prune()
    assert not left[0].exists() and len(files(folder)) == 1


SOURCE = """
#include <Python.h>
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "mine", 0, -1, 0, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit_mine(void) { return PyModule_Create(&def); }
"""


def test_modules_built_from_c(folder):
    compile_module_from_src(SOURCE, "mine")
    (path,) = folder.glob("files/*/mine*.so")
    assert (
        mode(path) == 0o600 and mode(path.parent) == mode(path.parent.parent) == 0o700
    )
    path.parent.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="is not used: another user"):
        module = compile_module_from_src(SOURCE, "mine")
    assert module.__file__ and not module.__file__.startswith(str(folder))
