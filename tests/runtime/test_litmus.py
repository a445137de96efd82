"""atomic_load, atomic_store and atomic_poll between two processes: litmus.py says what."""

from __future__ import annotations

from pathlib import Path

import litmus
import pytest


@pytest.mark.parametrize("test", litmus.TESTS)
def test_outcomes(test: str, tmp_path: Path) -> None:
    found = litmus.run(test, 3200, tmp_path)
    assert found["rounds"] == 3200
    assert found["forbidden"] == (3200 if test == "WRONG" else 0)
    if test == "POLL":
        assert found["seen"] == 3200
