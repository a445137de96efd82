"""Mutated tile IR never ends tirc: fuzz_text.py says what is done to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_text import TIRC, attempt

FIRST = int(os.environ.get("TEGULA_SEED", "0")) * 1_000_000
N = 300


@pytest.mark.one_in(4)
@pytest.mark.parametrize("chunk", range(4))
def test_mutated_text(chunk: int) -> None:
    if not TIRC.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    first = FIRST + N * chunk
    said = [attempt(seed) for seed in range(first, first + N)]
    wrong = [text for text in said if text not in ("ok", "refused")]
    assert not wrong, f"{len(wrong)} of {N}\n{wrong[0]}"
    assert said.count("ok") > N // 50, "too wild: all is refused"
