"""The machines beside each other: what a case left in memory on the CPU, and what the
emulator and the interpreter left there.

Every launch of a case is kept in a file, a folder for a run of `make opsuite`. Integers,
moved elements and single operations are equal bit by bit; floats may differ where the
order of a sum is open, or a function is one target's approximation: by how much is counted
in units of the last place of the type, of the largest element for sums and products.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
from element_types import is_float
from suite import EPS, decode

REFERENCE = "cpu"
# Arrays of a launch, by place, that the language leaves open: each machine has its own way.
OPEN = {
    "atomics.test_tickets": (1, 2),  # who comes first to a counter
    "sides.test_nothing_is_neutral": (2,),  # which of equals is the last one
}


class Record:
    """The launches of one case on one machine."""

    def __init__(self, folder: Path, case: str, machine: str) -> None:
        self.path = folder / f"{zlib.crc32(case.encode()):08x}.{machine}.npz"
        self.case = case
        self.arrays: list[np.ndarray] = []
        self.types: list[str] = []

    def add(self, arrays: list[np.ndarray], types: tuple[str, ...]) -> None:
        self.arrays += [np.array(x) for x in arrays]
        self.types += types

    def close(self) -> None:
        head = np.array(json.dumps({"case": self.case, "types": self.types}))
        np.savez(self.path, head, *self.arrays)


def distance(x: np.ndarray, y: np.ndarray, dtype: str) -> float:
    """0: the same bits, NaN like NaN; infinite: beyond any rounding."""
    if not is_float(dtype):
        return 0.0 if np.array_equal(x, y) else np.inf
    a, b = decode(x, dtype), decode(y, dtype)
    off = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if not off.any():
        return 0.0
    if not (np.isfinite(a[off]) & np.isfinite(b[off])).all():
        return np.inf
    good = np.isfinite(a) & np.isfinite(b)
    largest = np.maximum(np.abs(a[good]).max(), np.finfo(np.float32).tiny)
    return float(np.abs(a[off] - b[off]).max() / (largest * EPS[dtype]))


class Row:
    """A class of operations: one test of the suite."""

    def __init__(self) -> None:
        self.cases = self.equal = 0
        self.worst = 0.0
        self.beyond: list[str] = []


def compare(folder: Path) -> dict[tuple[str, str], Row]:
    """By machine and test: how each case compares with the CPU's."""
    rows: dict[tuple[str, str], Row] = {}
    for other in sorted(folder.glob("*.npz")):
        number, machine = other.name.removesuffix(".npz").split(".", 1)
        there = folder / f"{number}.{REFERENCE}.npz"
        if machine == REFERENCE or not there.exists():
            continue
        got, want = np.load(other), np.load(there)
        head, same = json.loads(str(got["arr_0"])), json.loads(str(want["arr_0"]))
        row = rows.setdefault((machine, head["case"].split("[")[0]), Row())
        row.cases += 1
        far = np.inf
        if head["types"] == same["types"]:
            free = OPEN.get(head["case"].split("[")[0], ())
            types = enumerate(head["types"], 1)
            each = ((i, t) for i, t in types if i - 1 not in free)
            far = max(
                (distance(got[f"arr_{i}"], want[f"arr_{i}"], t) for i, t in each),
                default=0.0,
            )
        row.equal += far == 0
        row.worst = max(row.worst, far)
        if far == np.inf:
            row.beyond.append(head["case"])
    return rows
