"""Options all tests share."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import subprocess
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# Kernels of tests stay out of the user's cache, and a test that wants a compile gets one.
# Before anything imports tegula; processes that tests start inherit it.
if "TEGULA_CACHE_DIR" not in os.environ:
    os.environ["TEGULA_CACHE_DIR"] = tempfile.mkdtemp(prefix="tegula-tests-")
    atexit.register(shutil.rmtree, os.environ["TEGULA_CACHE_DIR"], ignore_errors=True)

# Each of pytest's workers has a core. Threads of torch and NumPy that wait for the next
# product turn in a loop, and take it from another worker.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def turn() -> str:
    """A number that the commit says, another for each; "0" outside of a repository."""
    git = shutil.which("git")
    if git is None:
        return "0"
    command = [git, "-C", HERE, "rev-parse", "--verify", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return str(int(done.stdout[:8], 16)) if done.returncode == 0 else "0"


# Which cases marked one_in run. Workers inherit it.
os.environ.setdefault("TEGULA_TURN", turn())
# Who chooses random cases, by a seed or a count, gets all of them.
CHOOSING = ("TEGULA_SEED", "TEGULA_RANDOM_KERNELS", "TEGULA_PROMOTED")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        type=int,
        default=1,
        metavar="N",
        help="run every Nth test, from one that the commit says (for slow builds)",
    )
    parser.addoption(
        "--shard",
        default="",
        metavar="I/N",
        help="run the I-th of N parts, from 0 on (for tools that xdist hangs under)",
    )
    parser.addoption(
        "--full",
        action="store_true",
        help="every case of tests/ops_suite on every target, and every random one",
    )
    parser.addoption(
        "--bless",
        action="store_true",
        help="write the lower halves of tests/golden anew",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """60,000 items stay until the end: the collector of garbage has them to look at again
    and again, while they are made and then in each test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        # What is frozen no longer counts, so that modules alone, torch's above all, would
        # be looked through again and again.
        gc.set_threshold(20_000, 20, 20)


def of_other_turns(config: pytest.Config, items: list) -> set:
    """Of a test marked one_in(n) all cases but every n-th: each has its turn, one of n.
    Which turn is which is another matter for each test, so that not all single cases run
    at once."""
    cases: dict[tuple, list] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark and item.nodeid not in config.args:
            cases[item.path, item.originalname, mark.args[0]].append(item)
    others: set = set()
    for (_, name, n), of_test in cases.items():
        # Mixed, as neighbours have a parameter in common.
        of_test.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        turn = int(os.environ["TEGULA_TURN"]) + zlib.crc32(name.encode())
        others |= {*of_test} - {*of_test[turn % n :: n]}
    return others


def pytest_collection_modifyitems(config: pytest.Config, items: list) -> None:
    n = config.getoption("--sample")
    part, parts = map(int, (config.getoption("--shard") or "0/1").split("/"))
    if n * parts <= 1:
        if not config.getoption("--full") and not any(map(os.getenv, CHOOSING)):
            others = of_other_turns(config, items)
            config.hook.pytest_deselected(items=others)
            items[:] = [i for i in items if i not in others]
        return
    # By a hash of the name, not by position: the choice survives an added test.
    drawn, turn = [], int(os.environ["TEGULA_TURN"])
    for i in items:
        place, beside = divmod(zlib.crc32(i.nodeid.encode()), n)
        if beside == turn % n and place % parts == part:
            drawn.append(i)
    config.hook.pytest_deselected(items=[i for i in items if i not in set(drawn)])
    items[:] = drawn


# Where a parameter "cpu" is the target of launches.
LAUNCHING = [HERE / name for name in ("frontend", "kernels", "ops", "ops_suite")]


@pytest.fixture(autouse=True)
def _code_that_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """A first launch on a CPU runs code that checks bounds, which is compiled beside the
    code of all later launches. Most tests launch once: three of four, drawn by name, run
    what stays, and the fourth what comes first."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    # Other bits than those that --sample draws by.
    is_first = zlib.crc32(request.node.nodeid.encode()) >> 16 & 3 == 0
    if (
        is_first
        or "cpu" not in [p for p in params.values() if isinstance(p, str)]
        or not any(folder in request.path.parents for folder in LAUNCHING)
    ):
        yield
        return
    import tegula

    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = False
        yield
