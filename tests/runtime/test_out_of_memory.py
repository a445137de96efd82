"""Memory that runs out is a MemoryError, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_limits import GOOD, limits, run
from small_kernels import sample

from tegula import _core


def test_memory_runs_out() -> None:
    """The n-th allocation fails, for every n until the compile succeeds."""
    want = sample.lower("*fp32", "*fp32", "i32", B=4)
    step = 1
    failures = 0
    n = 1
    try:
        while n < 200000:
            _core._fail_after(n)
            try:
                assert sample.lower("*fp32", "*fp32", "i32", B=4) == want
                break
            except MemoryError:
                failures += 1
            n += step
            step = 1 if n < 300 else 7 if n < 1500 else 53
    finally:
        _core._fail_after(0)
    assert failures > 100


@pytest.mark.skipif(_core.build.count("-"), reason="sanitizers take memory")
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a", "emu:sm_90a"])
def test_limits_of_the_process(target: str, tmp_path: Path) -> None:
    """A sample of what memory_limits.py tries: LLVM's own allocations end there, too."""
    got = [run(tmp_path, target, kilobytes) for kilobytes in limits(9)]
    assert not [x for x in got if x.word not in GOOD]
    assert {x.word for x in got} == GOOD
