"""Compiles under limits of memory: python tests/runtime/memory_limits.py [n] [target ..]

n limits, from nothing above what the process has to as much as the compile takes, each in
a process of its own. What may come of it is a kernel or a MemoryError, and then the process
compiles the kernel without a limit; anything else is listed, and the exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import tegula

SCRIPT = """
import resource, sys
import tegula, tegula.language as tl

@tegula.jit
def starved(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    for j in tl.static_range(12):
        a = tl.exp(a) + tl.sum(a, 0) * j
    tl.store(y + i, tl.sort(a))

target, extra = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (extra << 10), -1))
try:
    starved.compile("*fp32:16", "*fp32:16", BLOCK=64, target=target)
    word = "compiled"
except MemoryError:
    word = "MemoryError"
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
starved.compile("*fp32:16", "*fp32:16", BLOCK=32, target=target)
print(word)
"""


class Outcome(NamedTuple):
    kilobytes: int
    word: str  # compiled, MemoryError, or what it ended with
    text: str


def run(folder: Path, target: str, kilobytes: int) -> Outcome:
    script = folder / "starved.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), target, str(kilobytes)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
            "TEGULA_CACHE_DIR": "",
            "TEGULA_PTXAS": "none",
        },
        check=False,
    )
    text = (done.stdout + done.stderr).strip()
    if done.returncode == 0:
        return Outcome(kilobytes, done.stdout.split()[-1], text)
    return Outcome(kilobytes, f"status {done.returncode}", text)


def limits(n: int, most: int = 12288) -> list[int]:
    """n of them in kilobytes, closer together where they are small."""
    return [round(most * (i / (n - 1)) ** 2) for i in range(n)]


GOOD = {"compiled", "MemoryError"}


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    bad = 0
    for target in sys.argv[2:] or ["cpu", "cuda:sm_90a", "emu:sm_90a"]:
        words: dict[str, list[int]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for kilobytes in limits(n):
                got = run(Path(folder), target, kilobytes)
                words.setdefault(got.word, []).append(kilobytes)
                if got.word not in GOOD:
                    bad += 1
                    print(f"{target} {kilobytes} KB: {got.word}\n{got.text[-400:]}")
        for word, where in words.items():
            print(f"{target:12} {word:12} {len(where):3} {where}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
