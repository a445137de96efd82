"""Nothing that can be done again and again keeps anything: see steady.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tegula

SANITIZED = "LD_PRELOAD" in os.environ
# What the C library keeps for a thread that comes next is no leak: steady.py says more.
TUNABLES = ":".join(
    f"glibc.{name}"
    for name in (
        "malloc.tcache_count=0",
        "malloc.arena_max=1",
        "pthread.stack_cache_size=0",
    )
)


def rounds(scenario: str, times: int) -> list[list[int]]:
    """[blocks, bytes, references, KiB resident] that each round left behind."""
    # The same package as this process's: a sanitizer's build is not the sources'.
    path = str(Path(tegula.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("steady.py"), path, scenario]
        + [str(times)],
        env=dict(os.environ, GLIBC_TUNABLES=TUNABLES),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(scenario: str, times: int = 20) -> None:
    seen = rounds(scenario, times)
    assert len(seen) == 4
    for blocks, n_bytes, references, _ in seen:
        # A leak a time is at least times of one of them; a number cached now and then
        # is one or two.
        assert abs(blocks) < times / 2, seen
        assert abs(references) < times / 2, seen
        assert abs(n_bytes) < times * 16, seen


@pytest.mark.parametrize("scenario", ["lower", "errors", "no_memory"])
def test_compiles_leak_nothing(scenario: str) -> None:
    check(scenario)


@pytest.mark.parametrize(
    "scenario",
    ["launch", "bad_launch", "interpret", "emulate", "descriptors", "autotune"],
)
def test_launches_leak_nothing(scenario: str) -> None:
    check(scenario)


@pytest.mark.parametrize(
    "scenario", ["drop_cpu", "drop_emu", "drop_ptx", "drop_broken", "libraries"]
)
def test_kernels_go_with_their_code(scenario: str) -> None:
    check(scenario, 10 if scenario == "libraries" else 20)  # of six compiles each


@pytest.mark.slow
@pytest.mark.one_in(3)
def test_what_no_allocation_leaks() -> None:
    """Each of 3000 allocations fails once a round: a leak of one shows in each round."""
    seen = rounds("no_memory_anywhere", 1)
    assert len(seen) == 4
    for sums in zip(*(row[:3] for row in seen), strict=True):
        assert abs(sum(sums)) < 4, seen


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps what was freed")
def test_kernels_take_the_room_of_one() -> None:
    times = 75
    grown = sorted(row[3] for row in rounds("drop_cpu", times))
    # KiB. A page that stays with each kernel is 300 in every round, so the least tells;
    # where the heap takes a piece of memory it keeps, that is a megabyte in one or two.
    assert grown[0] < times * 4 / 2, grown


def test_a_leak_would_be_seen() -> None:
    for blocks, n_bytes, references, _ in rounds("leaky", 20):
        assert SANITIZED or (blocks >= 20 and n_bytes >= 20 * 24)
        assert references >= 20 or sys.version_info >= (3, 12)  # None is immortal
