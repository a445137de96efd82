"""Mutated assembly of kernels harms no target: fuzz_assembly.py says what is done to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_assembly import attempt

FIRST = int(os.environ.get("TEGULA_SEED", "0")) * 1_000_000
N = 80


@pytest.mark.one_in(4)
@pytest.mark.parametrize("chunk", range(4))
def test_mutated_assembly(chunk: int) -> None:
    first = FIRST + N * chunk
    wrong, n_ok = attempt(first, first + N)
    assert not wrong, f"{len(wrong)} of {N}\n{wrong[0]}"
    assert n_ok > N // 20, "too wild: all is refused"
