"""Races in global memory: what the emulator says of programs that nothing orders.

Each racy kernel is reported under every seed, with both lines. Kernels that differ from it
by an atomic, a flag or equal values are not.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

TARGETS = ["emu:sm_80", "emu:sm_90a"]
SEEDS = [0, 1, 7]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with tegula.knobs.runtime.scope() as group:
        group.target = request.param
        yield request.param


def ones(n: int = 64, dtype: Any = np.int32) -> np.ndarray:
    return np.ones(n, dtype)


def line_of(kernel: Any, mark: str) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    (at,) = [k for k, line in enumerate(lines) if f"# {mark}" in line]
    return first + at


def report(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> str:
    """What is said under every seed; the caller looks at places and words."""
    said = []
    for seed in SEEDS:
        tegula.knobs.runtime.emu_seed = seed
        with pytest.raises(tegula.errors.RaceError) as e:
            kernel[grid](*(a.copy() for a in args), **options)
        assert "nothing orders these" in str(e.value)
        said.append(str(e.value))
    return "\n".join(said)


def runs(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> list[list]:
    """The results under every seed; none is a race."""
    results = []
    for seed in SEEDS:
        tegula.knobs.runtime.emu_seed = seed
        mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        kernel[grid](*mine, **options)
        results.append(mine)
    return results


def places(text: str) -> list[tuple[int, int]]:
    """Of each report, the line it is at and the line it names."""
    at = [int(n) for n in re.findall(r"\.py:(\d+):\d+: RaceError", text)]
    other = [int(n) for n in re.findall(r"in line (\d+), and nothing orders", text)]
    assert len(at) == len(other) == len(SEEDS), text
    return list(zip(at, other, strict=True))


# --- races -------------------------------------------------------------------------------
@tegula.jit
def own_number(out):
    tl.store(out, tl.program_id(0))  # store


def test_programs_store_different_values(target: str) -> None:
    text = report(own_number, (3,), ones(1))
    at = line_of(own_number, "store")
    assert set(places(text)) == {(at, at)}
    assert re.search(
        r"race: store .*'out'.*which program \(\d, 0, 0\) has written", text
    )


@tegula.jit
def increment(h, v, N: tl.constexpr):
    at = h + tl.load(v + tl.program_id(0) * N + tl.arange(0, N))
    x = tl.load(at)  # load
    tl.store(at, x + 1)  # store


def test_histogram_without_atomics(target: str) -> None:
    """Two programs that meet in one bin."""
    v = np.array([0, 1, 2, 3, 3, 4, 5, 6], np.int32)
    text = report(increment, (2,), np.zeros(8, np.int32), v, N=4)
    load, store = line_of(increment, "load"), line_of(increment, "store")
    assert set(places(text)) <= {(load, store), (store, load), (store, store)}


def test_elements_of_one_statement_that_meet(target: str) -> None:
    """A bin twice in one program is no race, as both elements store the same sum; two sums
    are."""
    same = np.array([0, 0, 0, 0], np.int32)
    for h, _ in runs(increment, (1,), np.zeros(8, np.int32), same, N=4):
        assert h.tolist() == [1] + 7 * [0]
    text = report(scatter, (1,), np.zeros(8, np.int32), np.arange(64) % 8, N=64)
    at = line_of(scatter, "store")
    assert set(places(text)) == {(at, at)}
    assert "another thread of its program" in text


@tegula.jit
def scatter(out, v, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + tl.load(v + i), i)  # store


@tegula.jit
def add_up(s, x, N: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), 0)
    old = tl.load(s)  # load
    tl.store(s, old + part)  # store


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float16, np.int8])
def test_sum_over_programs(target: str, dtype: Any) -> None:
    text = report(add_up, (4,), np.zeros(1, dtype), ones(64, dtype), N=16)
    load, store = line_of(add_up, "load"), line_of(add_up, "store")
    assert set(places(text)) <= {(load, store), (store, load)}
    assert "'s'" in text


@tegula.jit
def shift(x, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    y = tl.load(x + i + 1)  # load
    tl.store(x + i, y)  # store


def test_load_of_what_another_program_stores(target: str) -> None:
    text = report(shift, (2,), np.arange(65, dtype=np.int32), N=32)
    load, store = line_of(shift, "load"), line_of(shift, "store")
    assert set(places(text)) <= {(load, store), (store, load)}
    assert re.search(r"element (32|\[32\])", text), text


@tegula.jit
def two_views(x, y):
    tl.store(x + tl.program_id(0), 1)
    tl.store(y + tl.program_id(0), 2)


def test_two_arguments_of_one_memory(target: str) -> None:
    x = np.zeros(8, np.int32)
    for seed in SEEDS:
        tegula.knobs.runtime.emu_seed = seed
        with pytest.raises(tegula.errors.RaceError, match="nothing orders these"):
            two_views[(4,)](x[:5], x[3:])


@tegula.jit
def mixed(s):
    tl.atomic_add(s, 1)
    tl.store(s, 5)


def test_an_atomic_and_a_store(target: str) -> None:
    report(mixed, (2,), np.zeros(1, np.int32))


@tegula.jit
def hand_over(x, flag, sem: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x, 7)
        tl.atomic_xchg(flag, 1, sem=sem)
    else:
        while tl.atomic_add(flag, 0, sem=sem) == 0:
            pass
        tl.store(x + 1, tl.load(x))


def test_a_flag_that_orders_nothing(target: str) -> None:
    report(hand_over, (2,), np.zeros(2, np.int32), np.zeros(1, np.int32), sem="relaxed")


# --- none --------------------------------------------------------------------------------
def test_a_flag_that_is_released_and_acquired(target: str) -> None:
    x, flag = np.zeros(2, np.int32), np.zeros(1, np.int32)
    for got, _ in runs(hand_over, (2,), x, flag, sem="acq_rel"):
        assert got.tolist() == [7, 7]


@tegula.jit
def same_value(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), 7)


def test_equal_values(target: str) -> None:
    for (got,) in runs(same_value, (4,), np.zeros(64, np.int32), N=64):
        assert (got == 7).all()


@tegula.jit
def atomics(h, s, v, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(v + i)
    tl.atomic_add(h + x, 1)
    tl.atomic_max(s, tl.max(x, 0))


def test_atomics(target: str) -> None:
    v = np.arange(128, dtype=np.int32) % 7
    for h, s, _ in runs(atomics, (4,), np.zeros(7, np.int32), ones(1), v, N=32):
        np.testing.assert_array_equal(h, np.bincount(v))
        assert s[0] == 6


@tegula.jit
def last_adds(parts, count, out, n, N: tl.constexpr):
    """A sum by the program that comes last, as split-k kernels have it."""
    tl.store(parts + tl.program_id(0), tl.program_id(0) + 1)
    if tl.atomic_add(count, 1, sem="acq_rel") == n - 1:
        i = tl.arange(0, N)
        tl.store(out, tl.sum(tl.load(parts + i, mask=i < n, other=0), 0))


def test_the_last_to_come_adds(target: str) -> None:
    parts, zero = np.zeros(8, np.int32), np.zeros(1, np.int32)
    for *_, out, _ in runs(last_adds, (8,), parts, zero, zero, 8, N=8):
        assert out[0] == 36


@tegula.jit
def locked(lock, s):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(s, tl.load(s) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_a_lock(target: str) -> None:
    zero = np.zeros(1, np.int32)
    for _, s in runs(locked, (6,), zero, zero):
        assert s[0] == 6


@tegula.jit
def in_place(x, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * 2)


def test_a_program_reads_what_it_wrote(target: str) -> None:
    for (got,) in runs(in_place, (4,), np.arange(64, dtype=np.int32), N=16):
        np.testing.assert_array_equal(got, 2 * np.arange(64))
