"""Every operation x dtype x target beside NumPy. A row of a table is a case.

Each case runs on every machine under --full; else on a GPU and on two of the others,
drawn by the case's name: all operations meet all types every time.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tegula

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # suite.py, whatever folder pytest is started in

from suite import Machine, torch_cuda  # noqa: E402

MACHINES = ("cpu", "interpreter", "emu:sm_80", "emu:sm_90a", "cuda")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "machine" in metafunc.fixturenames:
        here = [m for m in MACHINES if m != "cuda" or torch_cuda()]
        metafunc.parametrize("machine", here, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list) -> None:
    if config.getoption("--full"):
        return
    kept, dropped = [], []
    for item in items:
        name = None
        if HERE in item.path.parents and hasattr(item, "callspec"):
            name = item.callspec.params.get("machine")
        if (
            name is None
            or name == "cuda"
            or name in drawn(item.nodeid.replace(name, ""))
        ):
            kept.append(item)
        else:
            dropped.append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def drawn(case: str) -> tuple[str, ...]:
    """Where a case runs unless all are asked for. By name, so that it is stable."""
    pairs = list(itertools.combinations(MACHINES[:-1], 2))
    return pairs[zlib.crc32(case.encode()) % len(pairs)]


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    name = request.param
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = name == "interpreter"
        target = {"interpreter": "cpu", "cuda": None}.get(name, name)
        tegula.knobs.runtime.target = target
        yield Machine(name)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """The same numbers on every machine."""
    case = request.node.name
    for name in MACHINES:
        case = case.replace(name, "")
    return np.random.default_rng(zlib.crc32(case.encode()))
