"""What one thing done again and again keeps: run by test_leaks.py, in a process of its own.

    python tests/runtime/steady.py python drop_cpu     "python" is where tegula lies
    [0, 0, 0]                                          a line a round, see count()

A process of its own, because pytest's threads hold None and True now and then, and a
capture or a progress line allocates between two counts. Some things would hide what is
ours, and are taken out of the counts:

- Python's cache of attributes (4096 entries) keeps the last name that was looked up in
  each. Names that are new strings each time, as PyObject_GetAttrString makes them, fill it
  for thousands of look-ups: a growth that halves each round. It is emptied before a count.
- malloc keeps a few freed pieces of each size per thread: tcache is turned off by
  test_leaks.py (GLIBC_TUNABLES).
- A thread that Python has joined is still on its way out (up to Python 3.12 join() returns
  when the thread's last lock is let go). Until it is gone it holds an arena of malloc's,
  and the next thread gets a new one, 2256 bytes for good; and its stack, kept for reuse
  with its table of thread-local variables, 352 bytes. So whether a round grows depends on
  who was quicker. test_leaks.py has one arena for all and no stacks kept, and settle()
  waits for threads that have been joined.

The first rounds are not printed: they import, start threads, parse each kernel once and
intern names.
"""

from __future__ import annotations

import ctypes
import gc
import json
import linecache
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, sys.argv[1])

import numpy as np  # noqa: E402
from small_kernels import broken, sample  # noqa: E402

import tegula  # noqa: E402
import tegula.language as tl  # noqa: E402
from tegula import _core  # noqa: E402
from tegula.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

PLACE = tempfile.TemporaryDirectory(prefix="tegula-steady-")
LIBRARY = Path(PLACE.name) / "mine.ll"
WARM_UP, ROUNDS, TIMES = 3, 4, 20


class MallInfo(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in "abcd"]
    _fields_ += [(n, ctypes.c_size_t) for n in ("mapped", "e", "f", "used", "h", "i")]


try:
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = MallInfo
except AttributeError:  # no glibc, or an old one

    def mallinfo() -> MallInfo:
        return MallInfo()


clear_caches: Callable[[], None] = getattr(
    sys, "_clear_internal_caches", getattr(sys, "_clear_type_cache", lambda: None)
)


@tegula.jit
def inner(x, scale: tl.constexpr):
    return [x * scale + nowhere, {"a": 1}]  # noqa: F821


@tegula.jit
def middle(x, *rest):
    f = lambda v: inner(v, 3)
    return f(x), rest


@tegula.jit
def broken_inside(x, n):
    for _ in range(n):
        with tl.static_range(3):
            tl.store(x, middle(n, 1, 2.0))
    a, _b = middle(n, x)
    tl.store(x, a)


@tegula.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@tegula.jit
def tile(source, y, BLOCK: tl.constexpr):
    d = tl.make_tensor_descriptor(y, [8, 16], [16, 1], [8, BLOCK])
    d.store([0, 0], source.load([0, 0]) + d.load([0, 0]))


SIGNATURE = ("*fp32", "*fp32", "i32")
X, Y = np.ones(64, np.float32), np.zeros(64, np.float32)
TILE = np.ones((8, 16), np.float32)


EXPECTED = (
    tegula.TegulaError, TypeError, ValueError, KeyError, MemoryError, OverflowError,
    AssertionError,
)  # fmt: skip


def quietly(call: Callable[[], object]) -> None:
    try:
        call()
    except EXPECTED:
        pass


def lower() -> None:
    sample.lower(*SIGNATURE, B=4)


def errors() -> None:
    quietly(lambda: broken.lower("*fp32", "i32"))
    quietly(lambda: broken_inside.lower("*fp32", "i32"))
    quietly(lambda: sample.lower(*SIGNATURE, B=3))
    quietly(lambda: sample.lower("*fp32", "nothing", "i32", B=3))
    quietly(lambda: sample.lower(*SIGNATURE, C=4))


def failing(call: Callable[[], object], numbers: Iterable[int]) -> int:
    """Calls while allocation n of a compile fails, for each n until one succeeds."""
    failed = 0
    for n in numbers:
        _core._fail_after(n)
        try:
            call()
        except MemoryError:
            failed += 1
        except tegula.CompileError:  # broken: it got as far as its error
            break
        else:
            break
        finally:
            _core._fail_after(0)
    return failed


def no_memory() -> None:
    for n in (1, 2, 3, 5, 10, 30, 60, 100, 180, 300, 400, 600, 900):
        failing(lambda: sample.lower(*SIGNATURE, B=4), [n])
        failing(lambda: broken.lower("*fp32", "i32"), [n])


def no_memory_anywhere() -> None:
    """Every allocation of a frontend's run, of one that ends in an error, of a compile."""
    assert failing(lambda: sample.lower(*SIGNATURE, B=4), range(1, 10**6)) > 1000
    assert failing(lambda: broken_inside.lower("*fp32", "i32"), range(1, 10**6)) > 100
    kernel = fresh()
    cpu = lambda: kernel.compile(*SIGNATURE, B=16, target="cpu")
    assert failing(cpu, range(1, 10**6)) > 300
    del linecache.cache[f"<fresh {number}>"]


def launch() -> None:
    scale[(1,)](X, Y, 64, BLOCK=64)
    scale[lambda meta: (meta["n"] // 64,)](X, y=Y, n=64, BLOCK=64)
    scale.run(X, Y, 64, 64, grid=(1,), warmup=False)


def bad_launch() -> None:
    for args in ((X, Y, []), (X, "Y", 64), (X, Y[::-1], 2**80), (X, Y), (X,) * 9):
        quietly(lambda a=args: scale[(1,)](*a, BLOCK=64))
    for grid in (1.5,), (1, 2, 3, 4), (-1,), lambda meta: meta["m"], None:
        quietly(lambda g=grid: scale[g](X, Y, 64, BLOCK=64))
    for options in {}, {"BLOCK": 63}, {"BLOCK": 64, "num_warps": 3}, {"BLOK": 64}:
        quietly(lambda o=options: scale[(1,)](X, Y, 64, **o))


def interpret() -> None:
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = True
        scale[(1,)](X, Y, 64, BLOCK=64)
        quietly(lambda: scale[(2,)](X, Y, 128, BLOCK=64))  # beyond the end


def emulate() -> None:
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_80"
        scale[(1,)](X, Y, 64, BLOCK=64)
        quietly(lambda: scale[(2,)](X, Y, 128, BLOCK=64))


def descriptors() -> None:
    source = TensorDescriptor.from_tensor(TILE, [8, 16])
    tile[(1,)](source, TILE.copy(), BLOCK=16)
    quietly(lambda: tile[(1,)](source, TILE.copy(), BLOCK=8))
    quietly(lambda: TensorDescriptor.from_tensor(TILE, [8, 16, 2]))


def autotune() -> None:
    configs = [tegula.Config({"BLOCK": b}) for b in (16, 32)]
    calls: list[int] = []

    def bench(call: Callable[[], object], quantiles: list[float]) -> list[float]:
        call()
        calls.append(1)
        return [float(len(calls))] * len(quantiles)

    tuned = tegula.autotune(configs, ["n"], restore_value=["y"], do_bench=bench)(scale)
    for n in 64, 48:
        tuned[lambda meta: (-(-meta["n"] // meta["BLOCK"]),)](X, Y, n)
    quietly(lambda: tuned[(1,)](X, n=3))
    assert len(calls) == 4


number = 0


def fresh(more: str = "", **names: Any) -> Any:
    """A kernel unlike all before."""
    global number
    number += 1
    text = f"""
@tegula.jit
def part(v):
    return tl.exp(v) * {number}

@tegula.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, part(v) + tl.sum(v) {more}, mask=i < n)
"""
    file = f"<fresh {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"tegula": tegula, "tl": tl, **names}
    exec(compile(text, file, "exec"), space)
    return space["kernel"]


def drop_cpu() -> None:
    fresh()[(1,)](X, Y, 64, B=64)
    del linecache.cache[f"<fresh {number}>"]


def drop_emu() -> None:
    compiled = fresh().compile(*SIGNATURE, B=64, target="emu:sm_80")
    assert compiled.asm["llir"]
    del linecache.cache[f"<fresh {number}>"]


def drop_ptx() -> None:
    compiled = fresh().compile(*SIGNATURE, B=64, target="cuda:sm_90a")
    assert compiled.asm["ptx"]
    del linecache.cache[f"<fresh {number}>"]


def drop_broken() -> None:
    quietly(lambda: fresh("+ nowhere")[(1,)](X, Y, 64, B=64))
    quietly(lambda: fresh("+ tl.zeros([7])")[(1,)](X, Y, 64, B=64))
    for n in number, number - 1:
        del linecache.cache[f"<fresh {n}>"]


@tl.core.extern
def foreign(x, path: tl.constexpr, symbol: tl.constexpr):
    table: tl.constexpr = {(tl.float32,): (symbol, tl.float32)}
    return tl.core.extern_elementwise("mine", path, [x], table, True)


CODE = """
@sum = addrspace(1) global float 0.0
define float @twice(float %x) {
  %r = fadd float %x, %x
  store float %r, ptr addrspace(1) @sum
  ret float %r
}
define float @trap(float %x) {
  call void @llvm.trap()
  unreachable
}
declare void @llvm.trap()
"""


def libraries() -> None:
    """Linked, refused, damaged, on each target; and dropped."""
    names = {"foreign": foreign, "LIB": tl.constexpr(str(LIBRARY))}
    LIBRARY.write_text(CODE)
    more = "+ foreign(v, LIB, 'twice')"
    fresh(more, **names)[(1,)](X, Y, 64, B=64)
    fresh(more, **names).compile(*SIGNATURE, B=64, target="emu:sm_80")
    fresh(more, **names).compile(*SIGNATURE, B=64, target="cuda:sm_80")
    for symbol in "trap", "absent":
        bad = fresh(f"+ foreign(v, LIB, '{symbol}')", **names)
        quietly(lambda bad=bad: bad[(1,)](X, Y, 64, B=64))
    LIBRARY.write_text(CODE[:-30])
    quietly(lambda: fresh(more, **names)[(1,)](X, Y, 64, B=64))
    for n in range(number - 5, number + 1):
        del linecache.cache[f"<fresh {n}>"]


def leaky() -> None:
    """The tests' test: one reference to None, one object, one piece of memory a time."""
    for o in None, object():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(o))
    ctypes.pythonapi.PyMem_RawMalloc(24)


WATCHED = (
    None, True, tl.float32, tl.core, tl.load, tl.constexpr, sample, sample.fn, scale,
    middle, X, Y, TILE, tegula.CompileError,
)  # fmt: skip


ended: set[int] = set()  # threads whose function has returned, by the system's number
run_thread = threading.Thread.run


def run_and_note(self: threading.Thread) -> None:
    try:
        run_thread(self)
    finally:
        ended.add(threading.get_native_id())


threading.Thread.run = run_and_note  # type: ignore[method-assign]


def settle() -> None:
    """Returns when threads that have ended are gone, and what the system kept of them.

    A stack is given back when the next thread ends: one does, and leaves the same each
    time.
    """
    for _ in range(2):
        last = threading.Thread(target=int)
        last.start()
        last.join()
        while any(os.path.exists(f"/proc/self/task/{n}") for n in ended):
            time.sleep(0.001)
        ended.clear()


def count() -> list[int]:
    """Python's blocks, bytes of malloc, and how often each of WATCHED is referred to."""
    settle()
    clear_caches()
    gc.collect()
    info = mallinfo()
    refs = [sys.getrefcount(o) for o in WATCHED]
    return [sys.getallocatedblocks(), info.used + info.mapped, *refs]


def resident() -> int:
    """KiB of memory in use that is no file's: libraries' pages come and go as they like."""
    text = Path("/proc/self/status").read_text()
    return sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", text, re.M)))


def no_huge_pages() -> None:
    """One page more is 4 KiB more, however the machine is set up."""
    PR_SET_THP_DISABLE = 41
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


@tegula.jit
def meet(here, n):
    tl.atomic_add(here, 1)
    while tl.atomic_add(here, 0) < n:
        pass


def wake_threads() -> None:
    """Each thread that grids run on has work once: its scratch is made then, and stays."""
    n = len(os.sched_getaffinity(0))
    meet[(n,)](np.zeros(1, np.int32), n)


def main() -> None:
    no_huge_pages()
    tegula.knobs.cache.dir = ""
    tegula.knobs.nvidia.ptxas = "none"
    wake_threads()
    once = globals()[sys.argv[2]]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else TIMES
    for i in range(WARM_UP + ROUNDS):
        before, pages = count(), resident()
        for _ in range(times):
            once()
        after = count()
        if i >= WARM_UP:
            moved = [b - a for a, b in zip(before, after, strict=True)]
            worst = max(moved[2:], key=abs)
            print(json.dumps([*moved[:2], worst, resident() - pages]), flush=True)


if __name__ == "__main__":
    main()
