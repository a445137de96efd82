"""Random programs of scalars and blocks do what Python does: fuzz_python.py makes them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_python import compare

FIRST = int(os.environ.get("TEGULA_SEED", "0")) * 1_000_000
N = 10


@pytest.mark.parametrize("chunk", range(6))
def test_as_python(chunk: int) -> None:
    for seed in range(FIRST + N * chunk, FIRST + N * (chunk + 1)):
        said = compare(seed)
        assert not said, f"seed {seed}: {said}"
