"""Rounding, denormals and the decimal point that a program has set are none of a kernel's:
neither where it runs, on whatever thread, nor in constants that a compile folds, which
other processes find on disk. torch.set_flush_denormal sets them, and Qt's setlocale.
"""

from __future__ import annotations

import ctypes
import locale
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl

LIBM = ctypes.CDLL(None)
# Where the word of control stands in fenv_t, and its bits.
if platform.machine() == "x86_64":
    AT, MODES = 28, {"flush": 0x8040, "up": 0x4000}
else:
    AT, MODES = 0, {"flush": 1 << 24, "up": 1 << 22}


@contextmanager
def floats(mode: str) -> Iterator[None]:
    """Of this thread, as C code would set it."""
    own, other = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    LIBM.fegetenv(own)
    ctypes.memmove(other, own, 64)
    word = ctypes.c_uint32.from_buffer(other, AT)
    word.value |= MODES[mode]
    LIBM.fesetenv(other)
    try:
        yield
        now = ctypes.create_string_buffer(64)
        LIBM.fegetenv(now)
        flags = 0x3F if AT else 0  # what has happened, beside it
        kept = ctypes.c_uint32.from_buffer(now, AT).value & ~flags
        assert kept == word.value & ~flags, "a launch has changed it"
    finally:
        LIBM.fesetenv(own)


def answer(target: str | None) -> bytes:
    """What a kernel that nobody has compiled stores, launched twice: some computed,
    some folded."""

    @tegula.jit(interpret=target is None)
    def kernel(x, y):
        i = tl.program_id(0) * 4 + tl.arange(0, 4)
        v = tl.load(x + i)
        small = tl.full((4,), 1e-30, tl.float32) * 1e-10
        third = tl.full((4,), 1.0, tl.float32) / 3.0
        tl.store(y + i, v * 1e-10)
        tl.store(y + 1024 + i, v / 3.0)
        tl.store(y + 2048 + i, small)
        tl.store(y + 3072 + i, third)

    x, y = np.full(1024, 1e-30, np.float32), np.zeros(4096, np.float32)
    grid = (256,) if target == "cpu" else (2,)
    with tegula.knobs.runtime.scope(), tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = ""
        tegula.knobs.runtime.target = target or "cpu"
        for _ in range(2):
            kernel[grid](x, y)
    assert y.view(np.int32)[[0, 2048]].all(), "denormals are kept"
    return y.tobytes()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", None])
def test_the_mode_of_the_program(target: str | None, mode: str) -> None:
    want = answer(target)
    with floats(mode):
        found = answer(target)
    assert found == want


@pytest.fixture
def comma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The decimal point of this process."""
    if shutil.which("localedef"):
        made = [*"localedef -i de_DE -f UTF-8".split(), tmp_path / "mine.UTF-8"]
        subprocess.run(made, capture_output=True)
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    was = locale.setlocale(locale.LC_NUMERIC)
    for name in "mine.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8":
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            monkeypatch.delenv("LOCPATH", raising=False)  # those of the system
            continue
        assert locale.localeconv()["decimal_point"] == ","
        yield
        assert locale.localeconv()["decimal_point"] == ",", "a launch has changed it"
        break
    else:
        pytest.skip("no locale with a comma here")
    locale.setlocale(locale.LC_NUMERIC, was)


@pytest.mark.usefixtures("comma")
@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", None])
def test_a_decimal_comma(target: str | None, capfd: pytest.CaptureFixture) -> None:
    answer(target)

    @tegula.jit(interpret=target is None)
    def kernel(x):
        add = "add.f32 $0, $1, 1.5;"
        v = tl.load(x)
        v = tl.inline_asm_elementwise(add, "=r,r", [v], tl.float32, True, 1)
        tl.device_print("v", v)
        tl.store(x, v)

    x = np.ones(1, np.float32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = target or "cpu"
        kernel[(1,)](x)
    assert x[0] == 2.5
    assert "v: 2.500000" in capfd.readouterr().out
