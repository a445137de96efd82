"""What programs say to each other through memory: flags, locks, messages.

On CPUs a thread is the other side. Each is a race that a merged read, or a flag raised
before all threads have stored, loses nearly always. For GPUs the order of instructions is
looked at.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.compat.compiler import ASTSource, GPUTarget


@tegula.jit
def reads_twice(data, flag, seen, B: tl.constexpr):
    i = tl.arange(0, B)
    first = tl.load(data + i)
    tl.atomic_xchg(flag, 1)  # go on
    while tl.load(flag, volatile=True) != 2:
        pass
    tl.store(seen + i, first)
    tl.store(seen + B + i, tl.load(data + i))


@pytest.mark.parametrize("b", [1, 128])
def test_a_volatile_load_is_a_barrier_of_reads_on_cpus(b: int) -> None:
    data, flag = np.full(b, 3, np.int32), np.zeros(1, np.int32)
    seen = np.zeros(2 * b, np.int32)

    def answer() -> None:
        while not flag[0]:
            pass
        data[:] = 4
        flag[0] = 2

    thread = threading.Thread(target=answer)
    thread.start()
    reads_twice[(1,)](data, flag, seen, B=b)
    thread.join()
    assert seen.tolist() == [3] * b + [4] * b


def ptx(kernel: tegula.Kernel, **signature: str) -> list[str]:
    constants = {"B": 1024}
    types = {**signature, "B": "constexpr"}
    target = GPUTarget("cuda", 90, 32)
    return (
        tegula.compile(ASTSource(kernel, types, constants), target)
        .asm["ptx"]
        .split("\n")
    )


def places(lines: list[str], *words: str) -> list[str]:
    return [word for line in lines for word in words if word in line]


def test_a_volatile_load_is_a_barrier_of_reads_in_ptx() -> None:
    lines = ptx(reads_twice, data="*i32", flag="*i32", seen="*i32")
    found = places(lines, "ld.global", "ld.volatile")
    assert found.index("ld.volatile") == found.count("ld.global") // 2 > 0


@tegula.jit
def publishes(data, flag, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(data + i, i)
    tl.atomic_xchg(flag, 1, sem="release")


@tegula.jit
def sums(x, out, B: tl.constexpr):
    tl.atomic_add(out, tl.sum(tl.load(x + tl.arange(0, B))))


def test_a_release_waits_for_all_threads() -> None:
    words = "st.global", "bar.sync", "atom.release"
    found = places(ptx(publishes, data="*i32", flag="*i32"), *words)
    assert found[-2:] == ["bar.sync", "atom.release"] and "st.global" in found


def test_what_a_sum_is_made_of_needs_no_barrier() -> None:
    found = places(ptx(sums, x="*i32", out="*i32"), "bar.sync", "atom.")
    assert found == ["bar.sync", "atom."]  # the barrier of the reduction


@tegula.jit
def locked(lock, data, B: tl.constexpr):
    i = tl.arange(0, B)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(data + i, tl.load(data + i) + 1)
    tl.atomic_xchg(lock, 0)


def test_programs_take_turns() -> None:
    lock, data = np.zeros(1, np.int32), np.zeros(256, np.int32)
    locked[(50,)](lock, data, B=256)
    assert data.tolist() == [50] * 256
