"""Random kernels mean one thing: interpreter, CPU and emulator agree. A third of them runs
as PTX through a driver (ptxsim) in the emulator's place, and beside it under --full.

    TEGULA_RANDOM_KERNELS=20000         that many instead of 2000
    TEGULA_SEED=7                       other ones; `date +%j` for new ones every day

Without these a commit runs every eighth fifty of the 2000, and --full runs all.

A seed is a kernel (maker/), on any machine and whatever ran before. A failure prints the
smallest kernel near it as the text of a file: put it into found/ when it is mended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import differ
from maker import Case, Draw, make
from maker.machine import as_ptx
from maker.shrink import shrink
from maker.watch import Watch

COUNT = int(os.environ.get("TEGULA_RANDOM_KERNELS", "2000"))
FIRST = int(os.environ.get("TEGULA_SEED", "0"))
CHUNK = 50
FOUND = sorted(Path(__file__).with_name("found").glob("*.py"))


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    it = Watch()
    yield it
    it.close()


@pytest.mark.one_in(8)
@pytest.mark.parametrize("chunk", range(-(-COUNT // CHUNK)))
def test_targets_agree(
    chunk: int, watch: Watch, request: pytest.FixtureRequest
) -> None:
    is_whole = request.config.getoption("--full")
    first = 1_000_000 * FIRST + CHUNK * chunk
    compared = 0
    for seed in range(first, first + min(CHUNK, COUNT)):
        case = make(Draw(seed))
        # The two have the engine in common: the other one's own is launching.
        if as_ptx(case) and not is_whole:
            case.targets = ["cpu"]
        said = watch.compare(case)
        if said and not said.startswith("skip"):
            small = shrink(case, watch, limit=300)
            pytest.fail(f"seed {seed}: {said}\n{small.dump()}")
        compared += not said
    assert compared > min(CHUNK, COUNT) * 0.9, "too many kernels that fit no machine"


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_found(file: Path, watch: Watch) -> None:
    """What differed once."""
    case = Case.load(file.read_text(encoding="utf-8"))
    assert watch.compare(case) == ""


@pytest.mark.one_in(4)
@pytest.mark.skipif(not differ.simulated.available(), reason="no build/libptxsim.so")
@pytest.mark.parametrize("chunk", range(5))
def test_large_products(chunk: int) -> None:
    """Loops of products that warpgroups take, as on a GPU (differ.py)."""
    first = 1_000_000 * FIRST + 30 * chunk
    for seed in range(first, first + 30):
        if any(p.name.startswith("l_") for p in differ.made(seed).params):
            said = differ.compare(seed)
            assert not said or said.startswith("skip"), f"seed {seed}: {said}"


@pytest.mark.one_in(4)
@pytest.mark.skipif(not differ.simulated.available(), reason="no build/libptxsim.so")
@pytest.mark.parametrize("chunk", range(4))
def test_chains(chunk: int) -> None:
    """Chains of operations over values of 8 and 16 bits, as on a GPU (differ.py)."""
    first = 1_000_000 * FIRST + 10 * chunk
    for seed in range(first, first + 10):
        said = differ.compare(seed, "chains")
        assert not said, f"seed {seed}: {said}"
