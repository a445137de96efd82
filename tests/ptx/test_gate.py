"""The gate of code for GPUs, which needs none: PTX of every kernel assembles for every
target, small kernels spill nothing, and what the code is made of stands in table.txt.

    .venv/bin/python -m pytest tests/ptx --bless       writes the table anew: read the diff

Registers and spills are one ptxas's, instruction counts one LLVM's: the head of the table
names both, and what another version would count otherwise is not compared under it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from cases import CASES, TARGETS, Case, compiled

import tegula
from tegula import toolchain

TABLE = Path(__file__).with_name("table.txt")

# What is counted, as a pattern over the lines of the PTX.
COUNTS = {
    "ld.global": r"\bld\.global",
    "ld.v4": r"\bld\.global[.\w:]*\.v4\b|\bld\.global[.\w:]*\.v2\.[bfu]64\b",
    "st.global": r"\bst\.global",
    "st.v4": r"\bst\.global[.\w:]*\.v4\b|\bst\.global[.\w:]*\.v2\.[bfu]64\b",
    "mma": r"\bmma\.sync",
    "wgmma": r"\bwgmma\.mma_async",
    "ldmatrix": r"\bldmatrix\.",
    "stmatrix": r"\bstmatrix\.",
    "cp.async": r"\bcp\.async\.c[ag]\.",
    "bar.sync": r"\b(?:bar|barrier)\.(?:cta\.)?sync",
    "shfl": r"\bshfl\.sync",
    "div.rn": r"\bdiv\.rn",
}
ASSEMBLER = ("regs", "spill")
COLUMNS = (*ASSEMBLER, "shared", *COUNTS)


PTXAS = (
    os.environ.get("TEGULA_PTXAS") or toolchain.find_ptxas() or shutil.which("ptxas")
)

if PTXAS is None or PTXAS == "none":
    pytest.skip(
        "no ptxas: TEGULA_PTXAS, nvidia-cuda-nvcc, PATH", allow_module_level=True
    )


@cache
def versions() -> dict[str, str]:
    said = subprocess.run([PTXAS, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"release ([\d.]+)", said)
    return {"ptxas": release[1] if release else "?", "LLVM": tegula._core.llvm}


def measure(case: Case, target: str) -> dict[str, int]:
    """The row of a case for a target; asserts what holds for every kernel."""
    c = compiled(case, target)
    ptx = c.asm["ptx"]
    assert f".target {target}" in ptx
    assert "cubin" in c.asm, "the PTX was not assembled"
    assert not re.search(r"\.local\b", ptx), "an array in local memory"
    assert c.n_regs > 0 and c.n_spills >= 0
    if case.small:
        assert c.n_spills == 0, f"{c.n_spills} bytes of registers spill"
    if "wgmma" in ptx:
        assert_no_advice(ptx, target)
    assert_blocks_fit(c, target)
    row = {"regs": c.n_regs, "spill": c.n_spills, "shared": c.metadata.shared}
    return row | {name: len(re.findall(p, ptx)) for name, p in COUNTS.items()}


def assert_no_advice(ptx: str, target: str) -> None:
    """C7510 and its like: the assembler has serialised what we meant to overlap."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        command = [PTXAS, f"-arch={target}", "-v", "-o", os.devnull, file.name]
        said = subprocess.run(command, capture_output=True, text=True).stderr
    assert not re.search(r"\bC75\d\d\b", said), said


def assert_blocks_fit(c: tegula.CompiledKernel, target: str) -> None:
    """The blocks that passes count on find room by the registers that ptxas gave them.

    Where shared memory is what leaves room for no more, it is just those blocks.
    """
    said = re.search(r"\.minnctapersm (\d+)", c.asm["ptx"])
    threads = re.search(r"\.(?:reqntid|maxntid) (\d+)", c.asm["ptx"])
    sm = re.search(r"\d+", target)
    if not said or not threads or not sm:
        return
    n = int(said[1])
    core = tegula._core
    fit = core._chip_blocks(int(sm[0]), int(threads[1]), c.n_regs, c.metadata.shared)
    assert fit >= n, f"{n} blocks are promised, and {fit} fit"
    by_shared = core._chip_blocks(int(sm[0]), 32, 1, c.metadata.shared)
    assert fit == n or n < by_shared, f"{fit} blocks fit, and {n} were asked for"


def test_blocks_of_a_multiprocessor() -> None:
    """What NVIDIA's occupancy calculator says: chip, threads, registers, shared memory, blocks."""
    for sm, threads, registers, shared, blocks in (
        (90, 256, 32, 0, 8),
        (90, 256, 33, 0, 6),
        (90, 128, 168, 0, 3),
        (90, 384, 168, 0, 1),
        (90, 128, 128, 113 << 10, 2),
        (90, 128, 128, (113 << 10) + 1, 1),
        (75, 512, 64, 32 << 10, 2),
        (80, 1024, 32, 0, 2),
        (80, 128, 40, 40 << 10, 4),
        (86, 1024, 32, 0, 1),
        (86, 128, 40, 32 << 10, 3),
        (87, 128, 40, 40 << 10, 4),
        (120, 256, 40, 0, 6),
    ):
        args = sm, threads, registers, shared
        assert tegula._core._chip_blocks(*args) == blocks, args


# --- the table -----------------------------------------------------------------------
def read_table() -> tuple[dict[str, str], dict[tuple[str, str], dict[str, int]]]:
    """The versions it was made with, and its rows."""
    if not TABLE.exists():
        return {}, {}
    first, *rest = TABLE.read_text().splitlines()
    made_with = dict(pair.split(" ") for pair in first.removeprefix("# ").split(", "))
    rows = {}
    for line in rest:
        if line and line[0] != "#":
            fields = line[NAME_WIDTH:].split()
            values = [int(f) for f in fields[2:]]
            rows[line[:NAME_WIDTH].strip(), fields[0]] = {
                "warps": int(fields[1]),
                **dict(zip(COLUMNS, values, strict=True)),
            }
    return made_with, rows


NAME_WIDTH = 26
kept_table = cache(read_table)


def bless(case: Case, target: str, row: dict[str, int]) -> None:
    """The row into the table; other processes may be doing the same."""
    with open(TABLE.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = read_table()[1] | {(case.name, target): row}
        head = ", ".join(f"{k} {v}" for k, v in versions().items())
        titles = " ".join(f"{c:>9}" for c in COLUMNS)
        lines = [
            f"# {head}",
            f"{'# kernel':{NAME_WIDTH}}{'target':8} {'warps':>5} {titles}",
        ]
        for c in CASES:
            for t in TARGETS:
                if (c.name, t) in rows:
                    r = rows[c.name, t]
                    values = " ".join(f"{r[k]:9}" for k in COLUMNS)
                    lines.append(f"{c.name:{NAME_WIDTH}}{t:8} {r['warps']:5} {values}")
        TABLE.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name.replace(" ", "-"))
def test_kernel(request: pytest.FixtureRequest, case: Case, target: str) -> None:
    row = {"warps": case.options.get("num_warps", 4), **measure(case, target)}
    if request.config.getoption("--bless"):
        bless(case, target, row)
        return
    made_with, rows = kept_table()
    assert (case.name, target) in rows, "no row in table.txt: --bless writes one"
    want = rows[case.name, target]
    now = versions()
    if made_with["LLVM"] != now["LLVM"]:
        pytest.skip(f"the table is LLVM {made_with['LLVM']}'s, this is {now['LLVM']}")
    if made_with["ptxas"] != now["ptxas"]:
        row |= {k: want[k] for k in ASSEMBLER}
    changed = {k: (want[k], row[k]) for k in row if row[k] != want[k]}
    assert not changed, f"table.txt and now: {changed}; --bless if it is meant"


def test_table_is_of_these_kernels() -> None:
    names = [c.name for c in CASES]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) < NAME_WIDTH
    stale = {name for name, _ in read_table()[1]} - set(names)
    assert not stale, f"no kernel of that name: {stale}; --bless drops the rows"
