"""Random kernels mean one thing: interpreter, CPU, emulator and, for a third of them, PTX
agree.

    TEGULA_RANDOM_KERNELS=20000         that many instead of 2000
    TEGULA_SEED=7                       other ones; `date +%j` for new ones every day

hypothesis makes them from the choices that maker/ asks for, and shrinks what fails. A
failure prints the kernel as the text of a file: put it into found/ when it is mended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from maker import Case, make
from maker.draw import Shrinking
from maker.watch import Watch

COUNT = int(os.environ.get("TEGULA_RANDOM_KERNELS", "2000"))
FIRST = int(os.environ.get("TEGULA_SEED", "0"))
CHUNK = 50
FOUND = sorted(Path(__file__).with_name("found").glob("*.py"))


@st.composite
def cases(draw) -> Case:
    return make(Shrinking(draw))


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    it = Watch()
    yield it
    it.close()


@pytest.mark.parametrize("chunk", range(-(-COUNT // CHUNK)))
def test_targets_agree(chunk: int, watch: Watch) -> None:
    compared = 0

    @seed(1000 * FIRST + chunk)
    @settings(
        max_examples=min(CHUNK, COUNT),
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def agree(case: Case) -> None:
        nonlocal compared
        said = watch.compare(case)
        compared += not said
        # One exception for all: what is shrunk towards is any failure.
        assert not said or said.startswith("skip"), f"{said}\n{case.dump()}"

    agree()
    assert compared > min(CHUNK, COUNT) * 0.9, "too many kernels that fit no machine"


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_found(file: Path, watch: Watch) -> None:
    """What differed once."""
    case = Case.load(file.read_text(encoding="utf-8"))
    assert watch.compare(case) == ""
