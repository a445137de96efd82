"""Kernels with a user's library inside, on disk: good as long as its bytes are the same."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import toolchain
from tegula.language import core

TARGETS = ["cpu", "emu:sm_80", "cuda:sm_80"]
MINE = (  # no triple: code for whatever the target is
    "define float @f(float %x) {\n  %y = fmul float %x, 2.0\n  ret float %y\n}\n"
)


@core.extern
def of_file(x, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"),): ("f", core.dtype("fp32"))}
    return core.extern_elementwise("mine", path, [x], row, True, _semantic=_semantic)


def make() -> Any:
    @tegula.jit
    def kernel(x, out, PATH: tl.constexpr):
        i = tl.arange(0, 32)
        tl.store(out + i, of_file(tl.load(x + i), PATH))

    return kernel


@pytest.fixture
def folder(tmp_path: Path):
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path / "cache")
        yield tmp_path


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "mine.ll"
    path.write_text(MINE)
    return path


def compiled(path: object, target: str = "cpu", **options: Any) -> Any:
    return make().compile("*fp32", "*fp32", PATH=str(path), target=target, **options)


def from_disk(path: object, target: str = "cpu", **options: Any) -> bool:
    return compiled(path, target, **options).metadata.from_disk


def result(path: Path) -> tuple[float, bool]:
    """What the library makes of 3, and whether the kernel came from the disk."""
    x, out = np.full(32, 3, np.float32), np.zeros(32, np.float32)
    done = make()[(1,)](x, out, PATH=str(path))
    return float(out[31]), done.metadata.from_disk


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_file_is_no_compile(folder: Path, library: Path, target: str) -> None:
    first, second = compiled(library, target), compiled(library, target)
    assert not first.metadata.from_disk and second.metadata.from_disk
    assert first.asm == second.asm and "linked" not in first.asm


def test_another_process_has_it_too(folder: Path, library: Path) -> None:
    script = folder / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "from test_disk_libraries import result\n"
        f"print(*result({str(library)!r}))\n"
    )
    env = {
        **os.environ,
        "PYTHONPATH": os.path.dirname(os.path.dirname(tegula.__file__)),
        "TEGULA_CACHE_DIR": str(folder / "cache"),
    }

    def run() -> str:
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return done.stdout.strip()

    assert run() == "6.0 False"
    assert run() == "6.0 True"
    library.write_text(MINE.replace("2.0", "4.0"))
    assert run() == "12.0 False"
    assert run() == "12.0 True"


def test_changed_and_changed_back(folder: Path, library: Path) -> None:
    """The size and even the time of the last change may stay: the bytes count."""
    before = library.stat()
    assert result(library) == (6.0, False)
    library.write_text(MINE.replace("2.0", "4.0"))
    os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert library.stat().st_size == before.st_size
    assert result(library) == (12.0, False)
    assert result(library) == (12.0, True)
    library.write_text(MINE)
    assert result(library) == (6.0, True), "the older file of the cache is still good"
    assert len(list(folder.glob("cache/v2/*/*.bin"))) == 2


def test_by_the_option(folder: Path, library: Path) -> None:
    for _ in range(2):
        options = {"extern_libs": {"mine": str(library)}}
        assert not from_disk("", **options)
        assert from_disk("", **options)
        library.write_text(MINE.replace("2.0", "4.0"))


def test_a_second_file_counts_where_it_is_used(folder: Path, tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{n}.ll" for n in ("first", "second", "third"))
    first.write_text(
        "declare float @g(float)\ndefine float @f(float %x) {\n"
        "  %y = call float @g(float %x)\n  ret float %y\n}\n"
    )
    second.write_text(MINE.replace("@f", "@g"))
    third.write_text(MINE.replace("@f", "@h"))
    libs = {"mine": str(first), "second": str(second), "third": str(third)}
    assert not from_disk("", extern_libs=libs)
    third.write_text("nobody reads this")
    assert from_disk("", extern_libs=libs)
    second.write_text(MINE.replace("@f", "@g").replace("2.0", "4.0"))
    assert not from_disk("", extern_libs=libs)


def test_a_file_that_is_gone(folder: Path, library: Path) -> None:
    compiled(library)
    library.unlink()
    with pytest.raises(tegula.CompileError, match="No such file"):
        compiled(library)
    library.mkdir()
    with pytest.raises(tegula.CompileError, match="the library"):
        compiled(library)


def test_libdevice_elsewhere(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library may call CUDA's: where that is found decides, too."""
    cuda = folder / "cuda.ll"
    cuda.write_text(MINE.replace("@f", "@__nv_g"))
    library.write_text(
        "declare float @__nv_g(float)\ndefine float @f(float %x) {\n"
        "  %y = call float @__nv_g(float %x)\n  ret float %y\n}\n"
    )
    monkeypatch.setattr(toolchain, "find_libdevice", lambda: str(cuda))
    assert [from_disk(library, "emu:sm_80") for _ in range(2)] == [False, True]
    other = folder / "other.ll"
    other.write_text(cuda.read_text().replace("2.0", "4.0"))
    monkeypatch.setattr(toolchain, "find_libdevice", lambda: str(other))
    assert [from_disk(library, "emu:sm_80") for _ in range(2)] == [False, True]


# --- how often a file is read ---------------------------------------------------------
class Opens:
    """Counts who opens a file."""

    IN_OPEN = 0x20

    def __init__(self, path: Path) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        watch = self.libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_OPEN)
        if self.fd < 0 or watch < 0:
            pytest.skip("no inotify here")

    def taken(self) -> int:
        """Since the last call; the kernel folds equal events that nobody has read."""
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return 0
        n = at = 0
        while at < len(data):
            _, mask, _, more = struct.unpack_from("iIII", data, at)
            n += bool(mask & self.IN_OPEN)
            at += 16 + more
        return n

    def close(self) -> None:
        os.close(self.fd)


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_read_once_for_each_state(folder: Path, library: Path) -> None:
    time.sleep(2.1)  # a file that has just changed is read each time
    opens = Opens(library)
    try:
        assert not from_disk(library) and opens.taken()
        assert from_disk(library) and opens.taken() == 1
        for _ in range(3):
            assert from_disk(library) and opens.taken() == 0
        # Another state, the same bytes. From an hour to come: a change of a moment ago is
        # one of long ago where a busy machine takes its time.
        os.utime(library, (time.time() + 3600,) * 2)
        assert from_disk(library) and opens.taken() == 1
        assert from_disk(library) and opens.taken() == 1, "it may change unseen"
    finally:
        opens.close()
