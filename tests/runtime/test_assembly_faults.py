"""Assembly that goes wrong, in threads and out of the cache on disk: no GPU takes part."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import errors

ASM = tl.constexpr(
    "{ .reg .pred p; setp.lt.s32 p, $1, 0; @p neg.s32 $0, $1; @!p mov.b32 $0, $1; }"
)


@tegula.jit
def absolute(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.inline_asm_elementwise(ASM, "=r,r", [v], tl.int32, True, 1))


def through_pointers(x, N: tl.constexpr, TEXT: tl.constexpr):
    p = x + tl.arange(0, N)
    tl.inline_asm_elementwise(TEXT, "=r,l", [p], tl.int32, False, 1)


COMPILED = tegula.jit(through_pointers)
INTERPRETED = tegula.jit(through_pointers, interpret=True)

LOAD = "ld.global.b32 $0, [$1];"
STORE = "st.global.b32 [$1], 5; mov.b32 $0, 0;"


@pytest.fixture(params=["cpu", "interpreter", "emu:sm_80"])
def where(request: pytest.FixtureRequest) -> Any:
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = request.param == "cpu"
        is_emu = request.param.startswith("emu")
        tegula.knobs.runtime.target = request.param if is_emu else "cpu"
        yield request.param, INTERPRETED if request.param == "interpreter" else COMPILED


@pytest.mark.parametrize(
    ("text", "n", "message"),
    [
        (LOAD, 128, r"(load|read) of (4 bytes|element 64 of 'x')"),
        (STORE, 128, r"(store|write) of (4 bytes|element 64 of 'x')"),
        ("ld.global.b32 $0, [$1+2];", 64, r"misaligned|not a multiple of 4"),
        ("mov.b32 $0, 1;\ntrap;", 64, r"trap in line 2 of the assembly"),
        ("L: add.u64 $1, $1, 1; mov.b32 $0, 0; bra L;", 64, r"no end in sight"),
    ],
)
def test_fault(where: Any, text: str, n: int, message: str) -> None:
    target, kernel = where
    if "bra" in text and target != "cpu":
        pytest.skip("takes seconds")
    x = np.zeros(64, np.int32)
    with pytest.raises(Exception, match=message) as e:
        kernel[(1,)](x, N=n, TEXT=text)
    assert isinstance(e.value, (errors.TegulaError, RuntimeError))
    assert "test_assembly_faults.py" in str(e.value)


def test_read_only(where: Any) -> None:
    x = np.zeros(64, np.int32)
    x.flags.writeable = False
    where[1][(1,)](x, N=64, TEXT=LOAD)
    with pytest.raises(ValueError, match="read-only"):
        where[1][(1,)](x, N=64, TEXT=STORE)


def check(seed: int, wrong: list) -> None:
    x = np.random.default_rng(seed).integers(-100, 100, 64 * 128).astype(np.int32)
    for _ in range(20):
        y = np.zeros_like(x)
        absolute[(64,)](x, y, N=128)
        if not np.array_equal(y, np.abs(x)):
            wrong.append(seed)


def test_threads() -> None:
    wrong: list = []
    all_ = [threading.Thread(target=check, args=(k, wrong)) for k in range(6)]
    for t in all_:
        t.start()
    for t in all_:
        t.join()
    assert not wrong


def test_out_of_the_cache_on_disk(tmp_path: Path) -> None:
    x = np.arange(-64, 64, dtype=np.int32)
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        for is_there in (False, True):
            absolute.device_caches.clear()
            assert bool(list(tmp_path.rglob("*"))) == is_there
            y = np.zeros_like(x)
            absolute[(1,)](x, y, N=128)
            np.testing.assert_array_equal(y, np.abs(x))
