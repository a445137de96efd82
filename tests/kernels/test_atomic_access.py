"""atomic_load, atomic_store and atomic_poll: values, masks, types, and waiting."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import errors, knobs

TYPES = ["int8", "uint16", "int32", "int64", "float16", "float32", "float64", "bool"]


@tegula.jit
def load_and_store(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.atomic_load(x + i, mask=i % 3 != 0)
    tl.atomic_store(out + i, v, mask=i % 5 != 0, sem="relaxed", scope="sys")
    one = (x + 5).atomic_load(sem="relaxed", scope="cta")
    (out + N).atomic_store(one)


@pytest.mark.parametrize("dtype", TYPES)
def test_values(device: Any, dtype: str) -> None:
    """What is masked off reads as 0 and is not written."""
    n = 64
    x = (np.arange(n) % 3).astype(dtype)
    old = np.full(n + 1, 1, dtype)
    out = device.put(old)
    load_and_store[(1,)](device.put(x), out, n)
    i = np.arange(n)
    want = np.where(i % 5 != 0, np.where(i % 3 != 0, x, 0), old[:n]).astype(dtype)
    got = device.get(out)
    assert (got[:n] == want).all() and got[n] == x[5]


@tegula.jit
def poll(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    found = tl.atomic_poll(x + i, i, timeout_ns=2000)
    tl.store(out + i, found.to(tl.int32))
    yes = (x + 3).atomic_poll(3)
    no = tl.atomic_poll(x + 4, 3, sem="relaxed", timeout_ns=0)
    tl.store(out + N, yes.to(tl.int32) * 2 + no.to(tl.int32))
    rows = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + N + 1, tl.sum(tl.atomic_poll(x + rows, rows).to(tl.int32)))


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64"])
def test_poll_of_what_is_there(device: Any, dtype: str) -> None:
    """Found at once, or not in time; each element for itself."""
    n = 32
    x = np.arange(n).astype(dtype)
    x[[17, 20]] += 1
    out = device.poison(n + 2, np.int32)
    poll[(1,)](device.put(x), out, n)
    got = device.get(out)
    assert (got[:n] == (x == np.arange(n))).all()
    assert got[n] == 2 and got[n + 1] == 16


@tegula.jit
def pass_on(flags, data, out, N: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, N)
    if p > 0:
        tl.atomic_poll(flags + p - 1, 1)
    before = tl.load(data + i, mask=i < N * p, other=0)
    tl.store(data + i, before + i)
    tl.atomic_store(flags + p, 1)
    tl.store(out + p, tl.sum(before))


def test_programs_that_wait_for_the_one_before(device: Any) -> None:
    """What one wrote ahead of its release, by all of its threads, the next one reads."""
    n, programs = 256, 2
    flags = device.put(np.zeros(programs, np.int32))
    data = device.put(np.zeros(n, np.int32))
    out = device.poison(programs, np.int32)
    pass_on[(programs,)](flags, data, out, n)
    assert (device.get(data) == programs * np.arange(n)).all()
    assert device.get(out).tolist() == [0, n * (n - 1) // 2]


@tegula.jit
def wait(flag, found, TIMEOUT: tl.constexpr):
    tl.store(found, tl.atomic_poll(flag, 1, timeout_ns=TIMEOUT).to(tl.int32))


@tegula.jit
def wait_given(flag, found, timeout):
    tl.store(found, tl.atomic_poll(flag, 1, timeout_ns=timeout).to(tl.int32))


@pytest.mark.parametrize("timeout", [0, 1, 2000, 2**33])
def test_timeout_that_the_launch_gives(device: Any, timeout: int) -> None:
    for value in (0, 1):
        if value == 0 and timeout > 2000:
            continue
        flag, found = (
            device.put(np.full(1, value, np.int32)),
            device.poison(1, np.int32),
        )
        wait_given[(1,)](flag, found, timeout)
        assert device.get(found)[0] == value


def test_timeout_is_the_clock_of_the_host() -> None:
    flag, found = np.zeros(1, np.int32), np.full(1, 7, np.int32)
    began = time.monotonic()
    wait[(1,)](flag, found, 50_000_000)
    assert found[0] == 0 and time.monotonic() - began >= 0.05


def test_poll_meets_a_write_of_the_host() -> None:
    """On the CPU, where kernel and host share memory."""
    flag, found = np.zeros(1, np.int32), np.zeros(1, np.int32)
    wait.compile("*i32", "*i32", TIMEOUT=None, target="cpu")
    timer = threading.Timer(0.05, flag.__setitem__, (0, 1))
    timer.start()
    wait[(1,)](flag, found, None)
    timer.join()
    assert found[0] == 1


@tegula.jit
def poll_for_ever(flag, SCOPE: tl.constexpr):
    if tl.program_id(0) > 0:
        tl.atomic_poll(flag + tl.arange(0, 128) * 0, 1, scope=SCOPE)


@pytest.mark.parametrize("sm", [80, 90])
def test_poll_for_what_nobody_writes(sm: int) -> None:
    """The emulator sees that no other program can end it."""
    with knobs.runtime.scope():
        knobs.runtime.target = f"emu:sm_{sm}"
        with pytest.raises(errors.BarrierError, match="that nobody writes") as e:
            poll_for_ever[(3,)](np.zeros(1, np.int32), "gpu")
    assert "tl.atomic_poll(flag" in str(e.value)


@tegula.jit
def poll_the_slow(flag, n):
    if tl.program_id(0) == tl.num_programs(0) - 1:
        x = n
        for _ in range(n):
            x = x * 1664525 + 1013904223
        tl.atomic_store(flag, (x | 1) & 1)
    else:
        tl.atomic_poll(flag, 1)


def test_poll_for_what_takes_long() -> None:
    """Others poll more than 20,000 times while one computes and writes nothing."""
    flag = np.zeros(1, np.int32)
    with knobs.runtime.scope():
        knobs.runtime.target = "emu:sm_80"
        poll_the_slow[(17,)](flag, 5_000_000, num_warps=1)
    assert flag[0] == 1


def test_order_and_scope_are_in_the_instruction() -> None:
    ptx = load_and_store.compile("*i8", "*i8", N=64, target="cuda:sm_90a").asm["ptx"]
    for words in (
        "ld.acquire.gpu",
        "st.relaxed.sys",
        "ld.relaxed.cta",
        "st.release.gpu",
    ):
        assert f"{words}.global.b8" in ptx, words


@tegula.jit
def load_release(x):
    tl.atomic_load(x, sem="release")


@tegula.jit
def store_acquire(x):
    tl.atomic_store(x, 1, sem="acquire")


@tegula.jit
def store_const(x: tl.const):
    tl.atomic_store(x, 1)


@tegula.jit
def load_const(x: tl.const, y):
    tl.atomic_store(y, tl.atomic_load(x))


@tegula.jit
def poll_float(x):
    tl.atomic_poll(x, 1)


@tegula.jit
def poll_no_time(x):
    tl.atomic_poll(x.to(tl.pointer_type(tl.int32)), 1, timeout_ns=-1)


@tegula.jit
def poll_block_of_times(x):
    p = x.to(tl.pointer_type(tl.int32))
    tl.atomic_poll(p, 1, timeout_ns=tl.arange(0, 4))


@tegula.jit
def poll_half_a_time(x):
    p = x.to(tl.pointer_type(tl.int32))
    tl.atomic_poll(p, 1, timeout_ns=tl.load(x))


@pytest.mark.parametrize(
    "kernel,message",
    [
        (load_release, 'sem must be one of "acquire", "relaxed"'),
        (store_acquire, 'sem must be one of "release", "relaxed"'),
        (store_const, "declared tl.const"),
        (poll_float, "integers of 16, 32 or 64 bits"),
        (poll_no_time, "timeout_ns is not negative"),
        (poll_block_of_times, "timeout_ns is one integer"),
        (poll_half_a_time, "timeout_ns is one integer"),
    ],
)
def test_refused(kernel: Any, message: str) -> None:
    with pytest.raises(tegula.CompileError, match=message):
        kernel.lower("*fp32")


def test_load_of_const() -> None:
    load_const.lower("*fp32", "*fp32")


@tegula.jit
def unheard(x, flag, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.debug_barrier()
    tl.atomic_store(flag + i, v)
    tl.debug_barrier()
    tl.atomic_load(flag + i)
    tl.store(out + i, tl.load(flag + i))


def test_an_acquire_that_nobody_hears(device: Any) -> None:
    """ptxas lost its predicate, and with it that of the store in front of it."""
    x, n = np.arange(64, dtype=np.int32), 64
    flag, out = device.put(np.zeros(n, np.int32)), device.put(np.zeros(n, np.int32))
    unheard[(1,)](device.put(x), flag, out, n, num_warps=8)
    assert (device.get(flag) == x).all() and (device.get(out) == x).all()
    code = unheard.compile(
        "*i32", "*i32", "*i32", N=n, num_warps=8, target="cuda:sm_90a"
    )
    assert "ld.acquire" not in code.asm["ptx"]
    assert re.search(r"ld\.relaxed\.gpu.*fence\.acq_rel\.gpu", code.asm["ptx"])
