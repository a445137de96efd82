"""Ctrl-C at random times in compiles and launches: how long until it is answered.

    python tests/runtime/interrupt.py [INTERRUPTIONS [SEED]]

interrupts as often as said (99), whatever number of tries that takes, and prints a row for
each kind of work, and each answer that took over 0.2 s: how much of it the process was
running (the rest, others were). Status 1 where one answer took over a second, or one in a
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
from typing import NamedTuple

import numpy as np

import tegula
import tegula.language as tl
from tegula.compat.compiler import ASTSource, GPUTarget

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


def on_emulator(kernel: tegula.Kernel, *args: object) -> None:
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        kernel[(3,)](*args)


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
        "emulator, for": lambda: on_emulator(turns, MANY, words),
        "emulator, while": lambda: on_emulator(spins, flag),
        "compile: frontend": lambda: compile_for(cpu, unrolls, 60_000),
        "compile: CPU": lambda: compile_for(cpu, unrolls, 1500),
        "compile: sort, CPU": lambda: compile_for(cpu, sorts, 4096),
    }
    if shutil.which("ptxas"):
        jobs["compile: GPU"] = lambda: compile_for(gpu, unrolls, 500)
        jobs["compile: sort, GPU"] = lambda: compile_for(gpu, sorts, 4096)
    return jobs


class Answer(NamedTuple):
    seconds: float  # from the signal to the exception
    cpu: float  # of all threads of the process, in that time
    after: float  # from the start of the work to the signal


def interrupted(job: Callable[[], object], after: float) -> Answer | None:
    """None: the job was over before."""
    sent: list[tuple[float, float]] = []
    over = threading.Event()

    def send() -> None:
        if not over.wait(after):
            sent.append((time.monotonic(), time.process_time()))
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    answer = None
    now = (-1.0, -1.0)  # where the signal comes between the job's end and the clock
    thread.start()
    try:
        try:
            job()
        finally:
            now = time.monotonic(), time.process_time()
            over.set()
            thread.join()
            time.sleep(0)
    except KeyboardInterrupt:
        wall, cpu = sent[0]
        answer = Answer(now[0] - wall, now[1] - cpu, after)
    return answer if answer and answer.seconds > 0 else None


def main(times: int, seed: int) -> int:
    tegula.knobs.cache.dir = ""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    chance = random.Random(seed)
    random.seed(seed)
    jobs = work()
    took: dict[str, list[Answer]] = {name: [] for name in jobs}
    tries = n = 0
    while n < times and tries < 5 * times:
        name = list(jobs)[tries % len(jobs)]
        tries += 1
        try:
            answer = interrupted(jobs[name], chance.uniform(0, 0.4))
        except KeyboardInterrupt:  # it came late, in our own code
            continue
        if answer is not None:
            took[name].append(answer)
            n += 1
    everything = [t for some in took.values() for t in some]
    for name, some in {**took, "all": everything}.items():
        if some:
            p50, p99, most = (quantile(some, percent) for percent in (50, 99, 100))
            row = f"p50 {p50:6.1f} ms  p99 {p99:6.1f}  most {most:6.1f}"
            print(f"{name:20} {len(some):5}  {row}")
    for name, some in took.items():
        for t in some:
            if t.seconds > 0.2:
                after, wall, cpu = (
                    f"{s * 1e3:.0f} ms" for s in (t.after, t.seconds, t.cpu)
                )
                print(
                    f"slow: {name}, {after} after its start: {wall}, {cpu} of it running"
                )
    return (
        n < times or quantile(everything, 99) > 200 or quantile(everything, 100) > 1e3
    )


def quantile(some: list[Answer], percent: int) -> float:
    """In milliseconds."""
    ordered = sorted(some)
    return ordered[min(len(some) * percent // 100, len(some) - 1)].seconds * 1e3


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in [*sys.argv[1:], "99", "0"][:2])))
