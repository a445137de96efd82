"""Each allocation of Python's fails in turn: run by test_hostile_memory.py.

    python tests/runtime/python_memory.py python launch 1   "python" is where tegula lies;
                                                            1: each, 5: every fifth

Each attempt is a process of its own, forked from one in which everything is loaded. What
may come: the result, MemoryError, or one of the answers that Python itself gives wrongly
(PYTHON below). What may not: another result, another error, an end of the process.
"""

from __future__ import annotations

import _testcapi
import os
import sys
import types
import zlib
from collections import Counter
from collections.abc import Callable

sys.path.insert(0, sys.argv[1])

import numpy as np

import tegula
import tegula.language as tl

# Python 3.11 loses the exception where it cannot make a frame for a traceback, reports
# that of co_positions wrongly, and where linecache finds no memory there is no source.
PYTHON = (
    "error return without exception set",
    "returned a result with an exception set",
    "is not available",
)


class Sha:
    """3.11's _sha256.sha256() crashes where it finds no memory for its result."""

    def __init__(self) -> None:
        self.sum = 0

    def update(self, text: bytes) -> None:
        self.sum = zlib.crc32(text, self.sum)

    def digest(self) -> bytes:
        return self.sum.to_bytes(32, "little")

    def hexdigest(self) -> str:
        return self.digest().hex()


for name in "_sha256", "_sha2":
    module = types.ModuleType(name)
    module.sha256 = Sha  # type: ignore[attr-defined]
    sys.modules[name] = module
tegula.knobs.cache.dir = ""
tegula.errors._leave_kernel = lambda *_: None  # type: ignore[assignment]  # compile() crashes, too

SCALE = tl.constexpr(3)


@tl.constexpr_function
def double(n):
    return n * 2


@tegula.jit
def part(v, *rest, scale: tl.constexpr):
    return v * scale + rest[0], [r + 1 for r in rest]


@tegula.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    for _ in range(n):
        v, _rest = part(v, n, scale=double(SCALE))
    f = lambda a, b: a + b
    tl.store(y + i, v + tl.reduce(v, 0, f), mask=i < n)


@tegula.jit
def broken(x, y, n, B: tl.constexpr):
    v, _rest = part(n, n, scale=double(SCALE))
    tl.store(x, v + nowhere)  # noqa: F821


SIGNATURE = ("*fp32", "*fp32", "i32")
X, Y = np.ones(64, np.float32), np.zeros(64, np.float32)


def anew() -> tegula.JITFunction:
    return tegula.jit(kernel.fn)


def launch() -> object:
    return anew()[(1,)](X, Y, 2, B=64) is not None


def error() -> object:
    try:
        broken.lower(*SIGNATURE, B=64)
    except tegula.CompileError as e:
        return e.code  # the line is left out where there is no memory for it
    raise AssertionError


SCENARIOS: dict[str, Callable[[], object]] = {
    "lower": lambda: anew().lower(*SIGNATURE, B=64),
    "lower again": lambda: kernel.lower(*SIGNATURE, B=64),
    "error": error,
    "launch": launch,
    "launch again": lambda: kernel[(1,)](X, Y, 2, B=64) is not None,
}


def attempt(call: Callable[[], object], n: int, want: object) -> int:
    """0: the result, 1: MemoryError or what Python does wrong, 2: something else."""
    _testcapi.set_nomemory(n, n + 1)
    try:
        got = call()
    except MemoryError:
        return 1
    except Exception as e:
        _testcapi.remove_mem_hooks()
        if any(text in str(e) for text in PYTHON):
            return 1
        print(n, repr(e), flush=True)
        return 2
    finally:
        _testcapi.remove_mem_hooks()
    if got == want:
        return 0
    print(n, "another result", got, flush=True)
    return 2


def main() -> None:
    call, step = SCENARIOS[sys.argv[2]], int(sys.argv[3])
    want, ends, n, in_a_row = call(), Counter[int](), 0, 0
    while in_a_row * step < 120:  # it does not get that far any more
        pid = os.fork()
        if pid == 0:
            os._exit(attempt(call, n, want))
        end = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if end not in (0, 1):
            print(f"allocation {n}: {end}")
        ends[end] += 1
        in_a_row = in_a_row + 1 if end == 0 else 0
        n += step
    print(*(f"{k}:{ends[k]}" for k in sorted(ends)))
    sys.exit(not set(ends) <= {0, 1})


if __name__ == "__main__":
    main()
