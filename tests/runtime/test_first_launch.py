"""The first launch of new code on a CPU checks bounds, without TEGULA_CHECK_BOUNDS."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.errors import OutOfBoundsError


@pytest.fixture(autouse=True)
def no_disk():
    with tegula.knobs.cache.scope(), tegula.knobs.runtime.scope():
        tegula.knobs.cache.dir = ""
        tegula.knobs.runtime.check_bounds = None
        yield


def make():
    """A kernel of its own for each test, with a forgotten mask."""

    @tegula.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i))

    return copy


def test_a_stray_store_is_an_error_until_there_is_none():
    copy, memory = make(), np.zeros(4096, np.float32)
    x, y = np.ones(4096, np.float32), np.zeros(1000, np.float32)
    for _ in range(2):
        with pytest.raises(OutOfBoundsError) as e:
            copy[(4,)](x, y, 1000, BLOCK=256)
        assert e.value.message == (
            "store of element 1000 of 'y' (float32, 1000 elements)"
        )
        assert e.value.filename == __file__
    c = copy[(4,)](x, memory, 1000, BLOCK=256)
    assert memory[:1024].all() and not memory[1024:].any()
    assert "tegula_bounds" not in c.asm["llir"]
    assert copy[(1,)](x, memory, 1000, BLOCK=256) is c


def test_smaller_tensors_are_tried_again():
    copy, x = make(), np.ones(4096, np.float32)
    for n in (1024, 512):
        y = np.zeros(n, np.float32)
        for _ in range(2):
            c = copy[(n // 256,)](x, y, n, BLOCK=256)
        for _ in range(2):
            with pytest.raises(OutOfBoundsError, match=f"element {n - 24} of 'y'"):
                copy[(n // 256,)](x, y[: n - 24].copy(), n, BLOCK=256)
        assert copy[(n // 256,)](x, y, n, BLOCK=256) is c
    with pytest.raises(OutOfBoundsError):
        copy[(1,)](x, y[:0].copy(), n, BLOCK=256)


def test_an_empty_tensor_leaves_the_next_one_on_trial():
    @tegula.jit
    def fill(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, 1.0, mask=i < n)
        tl.store(y + i, 1.0)

    x, y = np.zeros((2, 256), np.float32)
    for _ in range(3):
        c = fill[(1,)](x[:0].copy(), y, -1, BLOCK=64)
    with pytest.raises(OutOfBoundsError, match="element 4 of 'x'"):
        fill[(1,)](x[:4].copy(), y, 40, BLOCK=64)
    assert fill[(1,)](x, y, 40, BLOCK=64) is c


def test_sizes_that_go_down_are_tried_some_times_only():
    copy, x = make(), np.ones(4096, np.float32)
    for n in range(32, 16, -1):
        copy[(1,)](x, np.zeros((n, 128), np.float32), n, BLOCK=2048)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy[(1,)](x[:1024].copy(), x, n, BLOCK=2048)  # reads what it may not


def test_a_stray_load_is_a_warning_once():
    copy, y = make(), np.zeros(1 << 16, np.float32)
    short = np.ones(1000, np.float32)
    with pytest.warns(UserWarning) as seen:
        copy[(1,)](short, y, 1000, BLOCK=1024)
    (text,) = [str(w.message) for w in seen]
    assert "load of element 1000 of 'x' (float32, 1000 elements) in program" in text
    assert f"{__file__}:" in text and "TEGULA_CHECK_BOUNDS=1" in text
    assert (y[:1000] == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy[(1,)](short, y, 1000, BLOCK=1024)
        copy[(1,)](short, y, 1000, BLOCK=2048)  # another variant, the same kernel


STRAY = """
import sys

import numpy as np

import tegula
import tegula.language as tl

@tegula.jit
def copy(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))

n = int(sys.argv[1])
for _ in range(2):
    copy[(1,)](np.ones(n, np.float32), np.zeros(1024, np.float32), BLOCK=1024)
"""


def test_a_stray_load_is_a_warning_in_each_process(tmp_path):
    """Though the disk has the code: a notebook that is run again still has the mistake."""
    script = tmp_path / "script.py"
    script.write_text(STRAY)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    env |= {"TEGULA_CACHE_DIR": str(tmp_path / "cache")}
    for n, expected in ((1000, 1), (1000, 1), (1024, 0), (1000, 1), (1000, 1)):
        command = [sys.executable, str(script), str(n)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("UserWarning: ") == expected, done.stderr


def test_a_stray_load_where_no_memory_is_is_an_error():
    copy, y = make(), np.zeros(1 << 16, np.float32)
    with pytest.raises(OutOfBoundsError, match="load of element -"):
        # Far in front of it: nothing is mapped there.
        at = tegula.jit(lambda x, y, off: tl.store(y, tl.load(x + off)))
        at[(1,)](np.ones(4, np.float32), y, -(1 << 44))
    copy[(1,)](y, y, 16, BLOCK=16)


@pytest.mark.parametrize("switch", [False, True])
def test_the_knob(switch):
    copy = make()
    x, y = np.ones(64, np.float32), np.zeros(128, np.float32)
    tegula.knobs.runtime.check_bounds = switch
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if switch:
            for _ in range(2):
                with pytest.raises(OutOfBoundsError):
                    copy[(1,)](x, y, 128, BLOCK=128)
        else:
            copy[(1,)](x, y, 128, BLOCK=128)


def test_views_reach_as_far_as_their_memory():
    copy = make()
    memory = np.zeros((64, 64), np.float32)
    x = np.ones(4096, np.float32)
    copy[(4,)](x[:10], memory[0], 1024, BLOCK=256)
    assert memory[:16].all()
    with pytest.raises(OutOfBoundsError, match=r"float32, 64 elements, in a memory"):
        copy[(5,)](x, memory[1], 1024, BLOCK=1024)


def test_views_of_what_is_no_array():
    copy = make()
    owner = bytearray(4096)
    part = np.frombuffer(owner, np.float32)[:16]
    copy[(1,)](np.ones(1024, np.float32), part, 64, BLOCK=1024)
    with pytest.raises(OutOfBoundsError):
        make()[(1,)](np.ones(2048, np.float32), part, 64, BLOCK=2048)


def test_torch_storages():
    torch = pytest.importorskip("torch")
    y = torch.zeros(4096)
    make()[(1,)](torch.ones(4096), y[:16], 16, BLOCK=1024)
    assert y[:1024].all()
    with pytest.raises(OutOfBoundsError):
        make()[(1,)](torch.ones(8192), y, 16, BLOCK=8192)
    make()[(1,)](torch.ones(4096), y[:16].numpy(), 16, BLOCK=4096)


@tegula.jit
def through(address, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(address.to(tl.pointer_type(tl.float32)) + i, tl.load(y + i))


def test_addresses_in_integers_are_not_judged():
    x, y = np.zeros(64, np.float32), np.ones(64, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        through[(1,)](x.ctypes.data, y, BLOCK=64)
    assert x.all()


@tegula.jit
def every(x, y, n, BLOCK: tl.constexpr):
    count = tl.zeros([BLOCK], tl.int32)
    for at in range(0, n, BLOCK):
        count += tl.load(x + at + tl.arange(0, BLOCK))
    for at in range(0, n, BLOCK):
        tl.store(y + at + tl.arange(0, BLOCK), count)


def test_a_launch_of_nothing_is_no_trial():
    x, y = np.ones(4, np.int32), np.zeros(64, np.int32)
    for _ in range(3):
        c = every[(1,)](x[:0], y[:0], 0, BLOCK=16)
    with pytest.raises(OutOfBoundsError, match="store of element 4 of 'y'"):
        every[(1,)](y, x, 4, BLOCK=16)
    assert every[(1,)](y, y, 4, BLOCK=16) is c


def test_launches_of_nothing_are_checked_some_times_only():
    copy, y = make(), np.zeros(1 << 12, np.float32)
    for _ in range(8):
        copy[(1,)](y, y, 0, BLOCK=256)
    assert copy[(1,)](y, y[:10], 0, BLOCK=256)  # within the storage, and not looked at


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
@pytest.mark.parametrize("which", ["load", "store"])
def test_a_file_that_was_cut(target, which, tmp_path):
    """Its mapping has pages that are no memory: an error, and not SIGBUS."""
    file, copy = tmp_path / "cut", make()
    mapped = np.memmap(file, np.float32, "w+", shape=(1 << 16,))
    whole = np.zeros(1 << 16, np.float32)
    os.truncate(file, 1 << 16)
    tegula.knobs.runtime.interpret = target == "interpreter"
    if target.startswith("emu"):
        tegula.knobs.runtime.target = target
    x, y = (mapped, whole) if which == "load" else (whole, mapped)
    text = (
        f"{which} of element 16384 of '{'x' if which == 'load' else 'y'}' .* no memory"
    )
    with pytest.raises(OutOfBoundsError, match=text):
        copy[(256,)](x, y, 0, BLOCK=256)


def test_threads_share_a_trial():
    copy = make()
    x = np.ones(1 << 20, np.float32)
    made, errors = [], []

    def work():
        y = np.zeros(1 << 20, np.float32)
        try:
            for _ in range(3):
                made.append(copy[(1 << 12,)](x, y, 0, BLOCK=256))
            assert y.all()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(set(map(id, made))) == 1


SCRIPT = """
import sys, numpy as np, tegula, tegula.language as tl
@tegula.jit
def fill(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)
memory = np.zeros(64, np.float32)
x = memory.copy()[:10].copy()
if "warm" in sys.argv:
    fill.warmup(x, BLOCK=64, grid=(1,))
if "good" in sys.argv:
    c = fill[(1,)](memory, BLOCK=64)
    print("disk" if c.metadata is not None and c._facts["from_disk"] else "made")
if "bad" in sys.argv:
    fill[(1,)](x, BLOCK=64)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT)
    env = {k: v for k, v in os.environ.items() if k != "TEGULA_CHECK_BOUNDS"}
    env |= {
        "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
        "TEGULA_CACHE_DIR": str(folder / "cache"),
    }
    return subprocess.run(
        [sys.executable, "script.py", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
    )


def test_the_disk_keeps_what_has_passed(tmp_path):
    error = "store of element 10 of 'x' (float32, 10 elements)"
    for words in (["bad"], ["bad"], ["warm"], ["bad"]):  # new code, each time
        done = run(tmp_path, *words)
        assert (error in done.stderr) == (words == ["bad"])
    assert run(tmp_path, "good").stdout == "disk\n"  # of warmup, and tried here
    kept = list((tmp_path / "cache").rglob("*.bin"))
    assert len(kept) == 1
    assert error in run(tmp_path, "bad").stderr  # smaller than what was tried


@tegula.jit
def normed(x, w, b, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    d = tl.where(i < n, v - tl.sum(v) / n, 0.0)
    scale = tl.rsqrt(tl.sum(d * d) / n + 1e-5)
    y = d * scale * tl.load(w + i, i < n) + tl.load(b + i, i < n)
    tl.store(out + i, y, i < n)


def test_both_launches_give_the_same_bits():
    """A check between a product and a sum does not part them."""
    for seed in range(12):
        x, w, b = np.random.default_rng(seed).standard_normal((3, 64), np.float32)
        normed.device_caches.clear()
        first, second = np.zeros((2, 64), np.float32)
        for out in first, second:
            normed[(1,)](x, w, b, out, 7 + seed, BLOCK=1024)
        np.testing.assert_array_equal(first, second)


def test_a_stray_load_of_memory_that_nobody_may_read_is_an_error():
    """As behind a thread's stack, or where malloc grows later."""
    page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
    room = mmap.mmap(-1, 2 * page)
    x = np.frombuffer(room, np.float32, page // 4)
    behind = x.ctypes.data + page
    x = np.ctypeslib.as_array(
        (ctypes.c_float * (page // 4)).from_address(x.ctypes.data)
    )
    assert libc.mprotect(ctypes.c_void_p(behind), page, 0) == 0
    copy, y = make(), np.zeros(page // 2, np.float32)
    with pytest.raises(OutOfBoundsError, match=f"load of element {page // 4} of 'x'"):
        copy[(1,)](x, y, page // 2, BLOCK=page // 2)
    assert libc.mprotect(ctypes.c_void_p(behind), page, mmap.PROT_READ) == 0
