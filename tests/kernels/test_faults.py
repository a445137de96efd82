"""Take one barrier, one wait or one mask out of a kernel's IR: the emulator must tell.

The text of stage "simt" has every barrier of a kernel, as ``barrier`` or as a wait of an
op's place. Each is taken out, one at a time, and what is left runs under several orders of
the threads. Where a mutant gives another result, under any of them, it must have been
reported, at a line that shares memory with the line that was changed.

Masks are those that keep a program inside of its tensors: what a load without one reads
elsewhere in the same tensor is wrong, but no fault that a machine could see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import errors, knobs

TARGETS = ["emu:sm_80", "emu:sm_90a"]
# A wait whose results are the accumulators (`%1 = mma_wait %acc`) gives them their names.
WAIT = re.compile(r"\s*(async_wait|fence_async|mma_wait \{)")
SEEDS = range(3)


# --- kernels -----------------------------------------------------------------------------
@tegula.jit
def softmax(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + i, e / tl.sum(e, 0), mask=i < n)


@tegula.jit
def layer_norm(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(i < n, v - mean, 0.0)
    var = tl.sum(d * d, 0) / n
    tl.store(y + i, d / tl.sqrt(var + 1e-5), mask=i < n)


@tegula.jit
def cumsum(x, y, n, B: tl.constexpr):
    total = 0.0
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.cumsum(tl.load(x + i, mask=i < n, other=0.0), 0)
        tl.store(y + i, v + total, mask=i < n)
        total += tl.max(v, 0)


@tegula.jit
def histogram(x, y, n, B: tl.constexpr, BINS: tl.constexpr):
    count = tl.zeros((BINS,), tl.int32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        count += tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS)
    tl.store(y + tl.arange(0, BINS), count)


@tegula.jit
def matmul(a, b, c, m, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    r, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + r[:, None] * K + start + k, mask=r[:, None] < m, other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + n)
        acc = tl.dot(x, y, acc)
    tl.store(c + r[:, None] * N + n, acc, mask=r[:, None] < m)


@tegula.jit
def attention(q, k, v, o, n, R: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    r, d, j = tl.arange(0, R), tl.arange(0, D), tl.arange(0, B)
    x = tl.load(q + r[:, None] * D + d)
    most = tl.full((R,), -1e30, tl.float32)
    total = tl.zeros((R,), tl.float32)
    acc = tl.zeros((R, D), tl.float32)
    for start in range(0, n, B):
        rows = start + j
        y = tl.load(k + rows[:, None] * D + d, mask=rows[:, None] < n, other=0.0)
        s = tl.dot(x, tl.trans(y))
        s = tl.where(rows[None, :] < n, s, -1e30)
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - top[:, None])
        scale = tl.exp(most - top)
        total = total * scale + tl.sum(p, 1)
        z = tl.load(v + rows[:, None] * D + d, mask=rows[:, None] < n, other=0.0)
        acc = tl.dot(p.to(tl.float16), z, acc * scale[:, None])
        most = top
    tl.store(o + r[:, None] * D + d, acc / total[:, None])


class Case(NamedTuple):
    kernel: Any
    arrays: Callable[[np.random.Generator], list[np.ndarray]]
    numbers: list[int]
    options: dict[str, Any]


def floats(g: np.random.Generator, *shape: int, type: Any = np.float32) -> np.ndarray:
    return g.standard_normal(shape).astype(type)


# The arrays, of which the last is the result, and then the numbers.
CASES = {
    "softmax": Case(
        softmax,
        lambda g: [floats(g, 1000), np.zeros(1000, np.float32)],
        [1000],
        {"B": 1024},
    ),
    "layer_norm": Case(
        layer_norm,
        lambda g: [floats(g, 1000), np.zeros(1000, np.float32)],
        [1000],
        {"B": 1024},
    ),
    "cumsum": Case(
        cumsum,
        lambda g: [
            g.integers(0, 9, 700).astype(np.float32),
            np.zeros(700, np.float32),
        ],
        [700],
        {"B": 256},
    ),
    "histogram": Case(
        histogram,
        lambda g: [g.integers(0, 64, 700).astype(np.int32), np.zeros(64, np.int32)],
        [700],
        {"B": 256, "BINS": 64},
    ),
    "matmul": Case(
        matmul,
        lambda g: [
            floats(g, 50, 96, type=np.float16),
            floats(g, 96, 64, type=np.float16),
            np.zeros((50, 64), np.float32),
        ],
        [50, 96],
        {"M": 64, "N": 64, "BK": 32, "num_stages": 3},
    ),
    "attention": Case(
        attention,
        lambda g: [
            *(floats(g, n, 32, type=np.float16) for n in (64, 100, 100)),
            np.zeros((64, 32), np.float32),
        ],
        [100],
        {"R": 64, "B": 32, "D": 32, "num_stages": 2},
    ),
}


# --- mutants -----------------------------------------------------------------------------
class Mutant(NamedTuple):
    what: str
    line: int  # of the change, from 1
    text: str


def mutants(text: str) -> Iterator[Mutant]:
    lines = text.split("\n")

    def changed(i: int, new: str, what: str) -> Mutant:
        return Mutant(
            f"{what} at line {i + 1}",
            i + 1,
            "\n".join([*lines[:i], new, *lines[i + 1 :]]),
        )

    for i, line in enumerate(lines):
        word = line.strip()
        if word == "barrier" or WAIT.match(line):
            yield changed(i, "", word)
        waits = re.search(r", wait=([\w|]+)", line)
        for wait in waits[1].split("|") if waits else []:
            rest = "|".join(w for w in waits[1].split("|") if w != wait)
            clause = f", wait={rest}" if rest else ""
            yield changed(i, line.replace(waits[0], clause), f"wait={wait}")
        access = re.match(r"(.*\b(?:load|store|async_copy) %.*)", line)
        for masked in masks_of(line) if access else []:
            yield changed(i, masked, "mask")


def masks_of(line: str) -> Iterator[str]:
    """The line without its mask, if it has one."""
    m = re.match(
        r"(\s*(?:%\w+ = )?(load|store|async_copy)) (%[\w, %]+?)( \{.*| :.*|)$", line
    )
    if not m:
        return
    operands = m[3].split(", ")
    least = {"load": 1, "store": 2, "async_copy": 3}[m[2]]
    if len(operands) > least:
        yield f"{m[1]} {', '.join(operands[:least])}{m[4]}"


# --- runs --------------------------------------------------------------------------------
def launch(case: Case, **more: Any) -> tuple[np.ndarray, Any]:
    arrays = case.arrays(np.random.default_rng(0))
    compiled = case.kernel[(1,)](
        *arrays, *case.numbers, **case.options, num_warps=4, **more
    )
    return arrays[-1], compiled


def meets(text: str, changed: int, reported: int) -> bool:
    """May the two lines be about the same bytes of memory?"""
    lines = text.split("\n")
    at, other = lines[changed - 1], lines[reported - 1]
    place = r"shared\(at=(\d+), bytes=(\d+)"
    mine, theirs = re.search(place, at), re.search(place, other)
    if mine and theirs:
        a, b = (int(m[1]) for m in (mine, theirs))
        return a < b + int(theirs[2]) and b < a + int(mine[2])
    if at.strip() == "barrier" or WAIT.match(at):
        return bool(
            re.search(r"shared|load|store|async_copy|dot|mma_start|convert", other)
        )
    return changed == reported


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", TARGETS)
def test_each_fault_is_told(name: str, target: str, tmp_path: Path) -> None:
    case = CASES[name]
    with knobs.runtime.scope() as group:
        group.target = target
        want, compiled = launch(case)
        text = compiled.asm["simt"]
        n_told, told = 0, set()
        for n, m in enumerate(mutants(text)):
            path = tmp_path / f"{n}.simt"
            path.write_text(m.text)
            for seed in SEEDS:
                group.emu_seed = seed
                try:
                    got, _ = launch(case, ir_override=str(path))
                except errors.EmulatorError as e:
                    n_told += 1
                    told.add(m.what.split()[0])
                    assert meets(text, m.line, e.lineno), f"{m.what}: {e}"
                else:
                    assert np.array_equal(got, want), f"{m.what}, seed {seed}: not told"
        assert n_told > 0, text
        # Without a fence the result is right here, as only a GPU has two proxies. Of
        # several fences, one may stand for another.
        assert "fence_async" in told or "fence_async" not in text
