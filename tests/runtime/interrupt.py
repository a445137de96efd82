"""Ctrl-C at random times in compiles and launches: how long until it is answered.

    python tests/runtime/interrupt.py [TIMES [SEED]]

prints a row for each kind of work; status 1 where one answer took over a second or one in a
hundred over 0.2 s. test_interrupt.py runs a few, and looks at no clock.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import tegula
import tegula.language as tl
from tegula.compiler import ASTSource, GPUTarget

MANY = 2**62


@tegula.jit
def turns(n, out):
    a = 0
    for i in range(n):
        a ^= i.to(tl.int32)
    tl.store(out, a)


@tegula.jit
def nest(n, x, out):
    s = 0.0
    for _ in range(n):
        for j in range(7):
            s += tl.load(x + j)
    tl.store(out, s)


@tegula.jit
def blocks(n, x, out, B: tl.constexpr):
    acc = tl.zeros((B,), tl.float32)
    for _ in range(n):
        acc += tl.load(x + tl.arange(0, B))
    tl.store(out + tl.arange(0, B), acc)


@tegula.jit
def dots(n, x, out):
    r = tl.arange(0, 64)
    a = tl.load(x + r[:, None] * 64 + r)
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(n):
        acc = tl.dot(a, a, acc)
    tl.store(out + r[:, None] * 64 + r, acc)


@tegula.jit
def spins(flag):
    while tl.load(flag, volatile=True) == 0:
        pass


@tegula.jit
def counts(out):
    tl.atomic_add(out, 1)


@tegula.jit
def unrolls(x, N: tl.constexpr, SEED: tl.constexpr):
    a = tl.load(x)
    for i in tl.static_range(N):
        a = a * (i + SEED) + tl.load(x + i)
    tl.store(x, a)


@tegula.jit
def sorts(x, N: tl.constexpr, SEED: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.sort(tl.load(x + i) + SEED))


def compile_for(target: GPUTarget, fn: tegula.Kernel, n: int) -> None:
    constants = {"N": n, "SEED": random.randrange(1 << 30)}
    signature = {"x": "*i32", "N": "constexpr", "SEED": "constexpr"}
    tegula.compile(ASTSource(fn, signature, constants), target=target)


def work() -> dict[str, Callable[[], object]]:
    x, out = np.zeros(1 << 14, np.float32), np.zeros(1 << 14, np.float32)
    words, flag = np.zeros(1 << 14, np.int32), np.zeros(1, np.int32)
    cpu, gpu = GPUTarget("cpu", 0, 1), GPUTarget("cuda", 80, 32)
    jobs: dict[str, Callable[[], object]] = {
        "for, scalars": lambda: turns[(3,)](MANY, words),
        "for in for": lambda: nest[(3,)](MANY, x, out),
        "for, blocks": lambda: blocks[(3,)](MANY, x, out, B=4096),
        "for, dot": lambda: dots[(3,)](MANY, x, out),
        "while": lambda: spins[(3,)](flag),
        "many programs": lambda: counts[(2**31 - 1, 2**12)](words),
        "compile: frontend": lambda: compile_for(cpu, unrolls, 60_000),
        "compile: CPU": lambda: compile_for(cpu, unrolls, 1500),
        "compile: sort, CPU": lambda: compile_for(cpu, sorts, 4096),
    }
    if shutil.which("ptxas"):
        jobs["compile: GPU"] = lambda: compile_for(gpu, unrolls, 500)
        jobs["compile: sort, GPU"] = lambda: compile_for(gpu, sorts, 4096)
    return jobs


def interrupted(job: Callable[[], object], after: float) -> float | None:
    """Seconds from the signal to the exception; None: the job was over before."""
    sent: list[float] = []
    over = threading.Event()

    def send() -> None:
        if not over.wait(after):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    answer = None
    thread.start()
    try:
        try:
            job()
        finally:
            over.set()
            thread.join()
            time.sleep(0)
    except KeyboardInterrupt:
        answer = time.monotonic() - sent[0]
    return answer


def main(times: int, seed: int) -> int:
    tegula.knobs.cache.dir = ""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    chance = random.Random(seed)
    jobs = work()
    took: dict[str, list[float]] = {name: [] for name in jobs}
    for k in range(times):
        name = list(jobs)[k % len(jobs)]
        try:
            answer = interrupted(jobs[name], chance.uniform(0, 0.4))
        except KeyboardInterrupt:  # it came late, in our own code
            continue
        if answer is not None:
            took[name].append(answer)
    everything = sorted(t for some in took.values() for t in some)
    for name, some in {**took, "all": everything}.items():
        if some := sorted(some):
            late = some[min(len(some) * 99 // 100, len(some) - 1)]
            print(f"{name:20} {len(some):5}  p50 {some[len(some) // 2] * 1e3:6.1f} ms"
                  f"  p99 {late * 1e3:6.1f}  most {some[-1] * 1e3:6.1f}")  # fmt: skip
    late = everything[min(len(everything) * 99 // 100, len(everything) - 1)]
    return late > 0.2 or everything[-1] > 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in [*sys.argv[1:], "110", "0"][:2])))
