"""Products by copies of tensors, and by the interpreter: see fuzz_promoted.py.

TEGULA_PROMOTED=100000        that many launches instead of 2000
TEGULA_SEED=7                 other ones
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_promoted

simulated = fuzz_promoted.simulated
CHUNK = 200  # launches
CHUNKS = -(-int(os.environ.get("TEGULA_PROMOTED", "2000")) // CHUNK)
FIRST = 1_000_000 * int(os.environ.get("TEGULA_SEED", "0"))


@pytest.fixture(autouse=True)
def driver():
    if not simulated.available():
        pytest.skip("no build/libptxsim.so, or a GPU")
    with simulated.driver():
        yield


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random(chunk: int) -> None:
    first, n, n_copied = FIRST + CHUNK * chunk, 0, 0
    for seed in range(first, first + CHUNK // fuzz_promoted.LAUNCHES):
        said, launched, copied = fuzz_promoted.run(seed)
        assert not said
        n, n_copied = n + launched, n_copied + copied
    assert n_copied > n // 10  # what is not promoted proves nothing
