"""Two processes talk through shared memory, in kernels on the CPU, round after round.

    python tests/runtime/litmus.py 1000000          every test; a line for each

A test is named as in the literature on memory models. x and y are places of one round, r is
what is read, and the values of a round are higher than those of all rounds before:

    MP    x = i; release y = i      | r = acquire y; s = x        never r new and s old
    POLL  x = i; release y = i      | poll y == i; s = x          never s old
    LB    r = x; release y = i      | s = acquire y; x = i        never both new
    S     x = 2 i; release y = i    | r = acquire y; x = 2 i + 1  never r new and x = 2 i
    CORR  x = i                     | r = x; s = x                never s older than r
    WRONG y = i; wait; x = i        | poll y == i; s = x          always s old

The two meet every ROUNDS rounds, whose places are a cache line each, and run freely in
between: at 16 about half of the reads are too early and half are not. WRONG shows that
an outcome that is forbidden would be counted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tegula
import tegula.language as tl

TESTS = ("MP", "POLL", "LB", "S", "CORR", "WRONG")
ROUNDS = tl.constexpr(16)
LINE = tl.constexpr(16)  # int32s of a cache line
PATIENCE = tl.constexpr(120 * 10**9)  # ns: the other process may be slow to start

# What is shared: places of a round, what the two are at, what was counted.
LAYOUT = {"x": 16 * 16, "y": 16 * 16, "turns": 4 * 16, "counts": 4 * 16}


@tegula.jit
def meet(turns, n, ME: tl.constexpr):
    """Both go on when both are here; one is never two meetings ahead of the other."""
    mine = turns + (n % 2 * 2 + ME) * LINE
    other = turns + (n % 2 * 2 + 1 - ME) * LINE
    tl.atomic_store(mine, n, sem="release", scope="sys")
    is_here = tl.atomic_poll(other, n, scope="sys", timeout_ns=PATIENCE)
    tl.device_assert(is_here, "the other process is gone")


@tegula.jit
def first(x, y, i, TEST: tl.constexpr):
    if TEST == "MP" or TEST == "POLL":
        tl.store(x, i)
        tl.atomic_store(y, i, sem="release", scope="sys")
    elif TEST == "LB":
        r = tl.load(x)
        tl.atomic_store(y, i, sem="release", scope="sys")
        tl.store(x + 1, r)  # what was read, for the other to compare
    elif TEST == "S":
        tl.atomic_store(x, 2 * i, sem="relaxed", scope="sys")
        tl.atomic_store(y, i, sem="release", scope="sys")
    elif TEST == "CORR":
        tl.atomic_store(x, i, sem="relaxed", scope="sys")
    else:
        tl.atomic_store(y, i, sem="release", scope="sys")
        answered = tl.atomic_poll(y + 1, i, scope="sys", timeout_ns=PATIENCE)
        tl.device_assert(answered, "the other process is gone")
        tl.store(x, i)


@tegula.jit
def second(x, y, i, TEST: tl.constexpr):
    """Was it a forbidden outcome, and did the second see what the first wrote?"""
    if TEST == "CORR":
        r = tl.atomic_load(x, sem="relaxed", scope="sys")
        s = tl.atomic_load(x, sem="relaxed", scope="sys")
        return s < r, r == i
    if TEST == "POLL" or TEST == "WRONG":
        is_told = tl.atomic_poll(y, i, scope="sys", timeout_ns=PATIENCE)
        tl.device_assert(is_told, "the other process is gone")
        s = tl.load(x)
        if TEST == "WRONG":
            tl.atomic_store(y + 1, i, sem="release", scope="sys")
        return s != i, s == i
    r = tl.atomic_load(y, sem="acquire", scope="sys")
    if TEST == "MP":
        s = tl.load(x)
        return (r == i) & (s != i), r == i
    if TEST == "LB":
        tl.atomic_store(x, i, sem="relaxed", scope="sys")
    else:
        tl.atomic_store(x, 2 * i + 1, sem="relaxed", scope="sys")
    tl.store(y + 2, r)
    return False, r == i


@tegula.jit
def play(x, y, turns, counts, n, ME: tl.constexpr, TEST: tl.constexpr):
    forbidden = 0
    seen = 0
    for k in range(n // ROUNDS):
        meet(turns, 2 * k + 1, ME)
        for j in range(ROUNDS):
            at = j * LINE
            i = k * ROUNDS + j + 1
            if ME == 0:
                first(x + at, y + at, i, TEST)
            else:
                bad, new = second(x + at, y + at, i, TEST)
                forbidden += bad.to(tl.int32)
                seen += new.to(tl.int32)
        meet(turns, 2 * k + 2, ME)
        if ME == 1 and (TEST == "LB" or TEST == "S"):
            for j in range(ROUNDS):
                at = j * LINE
                i = k * ROUNDS + j + 1
                r = tl.load(y + at + 2)
                if TEST == "LB":
                    forbidden += ((r == i) & (tl.load(x + at + 1) == i)).to(tl.int32)
                else:
                    forbidden += ((r == i) & (tl.load(x + at) == 2 * i)).to(tl.int32)
    if ME == 1:
        tl.store(counts, forbidden)
        tl.store(counts + 1, seen)
    tl.store(counts + 2 + ME, n // ROUNDS * ROUNDS)


def shared(path: str) -> dict[str, np.ndarray]:
    memory = np.memmap(path, np.int32, "r+")
    arrays, at = {}, 0
    for name, size in LAYOUT.items():
        arrays[name] = memory[at : at + size]
        at += size
    return arrays


def run(test: str, rounds: int, folder: Path) -> dict[str, int]:
    """rounds, forbidden, and seen: how often the second saw what is new."""
    path = folder / f"{test}.bin"
    np.zeros(sum(LAYOUT.values()), np.int32).tofile(path)
    command = [sys.executable, __file__, test, str(path), str(rounds)]
    both = [subprocess.Popen([*command, me]) for me in "01"]
    codes = [p.wait() for p in both]
    if any(codes):
        raise RuntimeError(f"{test}: the processes ended with {codes}")
    forbidden, seen, one, other = shared(str(path))["counts"][:4].tolist()
    assert one == other
    return {"rounds": one, "forbidden": forbidden, "seen": seen}


def main() -> None:
    if len(sys.argv) == 5:
        test, path, rounds, me = sys.argv[1:]
        memory = shared(path)
        play[(1,)](*memory.values(), int(rounds), int(me), test, debug=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        for test in TESTS:
            print(test, run(test, int(sys.argv[1]), Path(folder)), flush=True)


if __name__ == "__main__":
    main()
