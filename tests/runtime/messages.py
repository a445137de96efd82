"""Two processes that pass messages through shared memory, in kernels.

    PYTHONPATH=python python tests/runtime/messages.py 1000000      rounds, a minute or two

Each process runs one kernel. In a round both write a message, a number and a block, by
plain stores, release a flag behind it, and poll the flag of the other; what the flag
promises must be there. A counter of 64 bits whose halves are equal, written relaxed,
is never seen torn and never goes back. Then each acquires a cell of the other before it
releases one of its own, so that not both can have seen what the other wrote later: they
compare that every SLOTS rounds, when they wait for each other, so that a message is read
before its slot is used again.
"""

from __future__ import annotations

import sys
from multiprocessing import get_context, shared_memory

import numpy as np

import tegula
import tegula.language as tl

SLOTS = 64
BLOCK = 16
# int64 words of one process: messages, flags, counters, cells, what was seen of cells.
SIDE = SLOTS * (BLOCK + 8) + 64 + SLOTS * 8 + 2 * SLOTS


@tegula.jit
def talk(mine, theirs, wrong, rounds, pace, SLOTS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    flags = SLOTS * BLOCK
    counter = flags + SLOTS * 8
    cells = counter + 64
    j = tl.arange(0, SLOTS)
    bad = 0
    before = tl.full((), 0, tl.int64)
    both = (1 << 32) + 1
    for r in range(1, rounds + 1):
        slot = r % SLOTS
        tl.store(mine + slot * BLOCK + i, i + r)
        tl.atomic_store(mine + flags + slot * 8, r, scope="sys")
        tl.atomic_store(
            mine + counter, r.to(tl.int64) * both, sem="relaxed", scope="sys"
        )
        tl.atomic_poll(theirs + flags + slot * 8, r, scope="sys")
        got = tl.load(theirs + slot * BLOCK + i)
        bad += tl.sum((got != i + r).to(tl.int32))
        for _ in range(1 + r * pace % 31):  # the two meet at the cell at all distances
            seen = tl.atomic_load(theirs + counter, sem="relaxed", scope="sys")
            bad += ((seen & 0xFFFFFFFF) != (seen >> 32)).to(tl.int32)
            bad += (seen < before).to(tl.int32)
            before = seen
        seen_cells = cells + SLOTS * 8 + (r - 1) // SLOTS % 2 * SLOTS  # two, in turn
        cell = tl.atomic_load(theirs + cells + slot * 8, scope="sys")
        tl.atomic_store(mine + cells + slot * 8, r, scope="sys")
        tl.store(mine + seen_cells + slot, cell)
        if slot == 0:  # read: they may write it again
            tl.atomic_store(mine + counter + 8, r, scope="sys")
            tl.atomic_poll(theirs + counter + 8, r, scope="sys")
            new = tl.load(mine + seen_cells + j) > r - SLOTS
            bad += tl.sum(
                (new & (tl.load(theirs + seen_cells + j) > r - SLOTS)).to(tl.int32)
            )
    tl.store(wrong, bad)


def side(name: str, number: int, rounds: int) -> None:
    memory = shared_memory.SharedMemory(name)
    both = np.ndarray((2, SIDE), np.int64, memory.buf)
    wrong = np.full(1, -1, np.int64)
    try:
        mine, theirs = both[number], both[1 - number]
        talk[(1,)](mine, theirs, wrong, rounds, 7 + 4 * number, SLOTS, BLOCK)
    finally:
        mine = theirs = both = None
        memory.close()
    sys.exit(0 if wrong[0] == 0 else 3)


def run(rounds: int, timeout: float) -> list[int | None]:
    """The exit codes of both: 0, or 3 where something forbidden was seen."""
    memory = shared_memory.SharedMemory(create=True, size=2 * SIDE * 8)
    try:
        start = get_context("spawn")
        both = [
            start.Process(target=side, args=(memory.name, n, rounds)) for n in (0, 1)
        ]
        for p in both:
            p.start()
        for p in both:
            p.join(timeout)
        for p in both:
            if p.is_alive():
                p.kill()
                p.join()
        return [p.exitcode for p in both]
    finally:
        memory.close()
        memory.unlink()


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    codes = run(rounds, 3600)
    print(f"{rounds} rounds, two processes: {'right' if codes == [0, 0] else codes}")
    sys.exit(codes != [0, 0])
