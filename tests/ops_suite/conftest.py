"""Every operation x dtype x target beside NumPy. A row of a table is a case.

Each case runs on every machine under --full; else on a GPU and on one of the others, drawn
by the case's name: all operations meet all types every time. Every eighth runs as PTX too,
interpreted, for one architecture. --full ends with a line
that counts cases, differences and races on the emulator, and a table of how emulator and
interpreter compare with the CPU (beside.py).
"""

from __future__ import annotations

import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tegula

HERE = Path(__file__).parent
# suite.py and simulated.py, whatever folder pytest is started in
sys.path += [str(HERE), str(HERE.parent / "ptxsim")]

import beside  # noqa: E402
import simulated  # noqa: E402
from suite import Machine, torch_cuda  # noqa: E402

KEPT = "TEGULA_OPSUITE_KEPT"  # the folder for what beside.py compares
SIMULATED = tuple(f"ptxsim:{t}" for t in ("sm_75", "sm_80", "sm_90a", "sm_120a"))
MACHINES = ("cpu", "interpreter", "emu:sm_80", "emu:sm_90a", *SIMULATED, "cuda")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "machine" in metafunc.fixturenames:
        here = [
            m
            for m in MACHINES
            if (m != "cuda" or torch_cuda())
            and (m not in SIMULATED or simulated.available())
        ]
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


class Tally:
    """What became of the cases under --full: by machine, for the last line."""

    def __init__(self) -> None:
        self.runs: dict[str, set[str]] = {name: set() for name in MACHINES}
        self.cases: set[str] = set()
        self.wrong: set[str] = set()
        self.races: set[str] = set()
        self.skipped: set[str] = set()
        self.folder = tempfile.TemporaryDirectory()
        os.environ[KEPT] = self.folder.name  # workers inherit it

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        name = next((m for m in MACHINES if f"[{m}" in test or f"-{m}" in test), None)
        if "ops_suite" not in test or name is None:
            return
        if report.skipped:
            self.skipped.add(test)
        elif report.failed:
            self.wrong.add(test)
            if "race" in report.longreprtext:
                self.races.add(test)
        elif report.when == "call":
            self.runs[name].add(test)
        self.cases.add(test.replace(name, ""))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        runs = ", ".join(f"{len(r)} on {name}" for name, r in self.runs.items() if r)
        terminalreporter.write_line(
            f"op suite: {len(self.cases)} cases, {len(self.wrong)} differences, "
            f"{len(self.races)} races, {len(self.skipped)} skipped; passed: {runs}"
        )
        self.beside_the_cpu(terminalreporter.write_line)

    def beside_the_cpu(self, say: Callable[[str], None]) -> None:
        say(f"{'beside the CPU':44} cases  same bits  the others differ by at most")
        for (machine, test), row in beside.compare(Path(self.folder.name)).items():
            worst = "" if row.equal == row.cases else f"{row.worst:9.2f} ulp"
            say(f"  {machine:11} {test:30} {row.cases:5} {row.equal:10}  {worst}")
            for case in row.beyond:
                say(f"    MORE THAN ROUNDING: {case}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        rows = beside.compare(Path(self.folder.name)).values()
        if any(row.beyond for row in rows) and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--full") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally(), "ops-suite-tally")


def drawn(case: str) -> tuple[str, ...]:
    """Where a case runs unless all are asked for. By name, so that it is stable."""
    draw = zlib.crc32(case.encode())
    some = draw // 8 % (8 * len(SIMULATED))  # most of it is LLVM's time
    return MACHINES[draw % 4], *SIMULATED[some : some + 1]


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    name = request.param
    with tegula.knobs.runtime.scope(), tegula.knobs.nvidia.scope():
        tegula.knobs.runtime.interpret = name == "interpreter"
        there = dict.fromkeys((*SIMULATED, "cuda"))  # where the tensors are
        target = {"interpreter": "cpu", **there}.get(name, name)
        tegula.knobs.runtime.target = target
        if name in SIMULATED:
            tegula.knobs.nvidia.ptxas = "none"
            simulated.start()
        it = Machine(name)
        if KEPT in os.environ and (name in MACHINES[:4]):
            case = request.node.nodeid.split("::")[-1].replace(name, "")
            test = Path(request.node.path).stem.removeprefix("test_")
            folder = Path(os.environ[KEPT])
            it.record = beside.Record(folder, f"{test}.{case}", name)
        yield it
        if it.record:
            it.record.close()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """The same numbers on every machine."""
    case = request.node.name
    for name in MACHINES:
        case = case.replace(name, "")
    return np.random.default_rng(zlib.crc32(case.encode()))
