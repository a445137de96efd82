"""Random kernels mean one thing: interpreter, CPU and emulator agree.

TEGULA_RANDOM_KERNELS=2000 runs that many; the default is a sample. A failure names its
seed: ``python tests/props/test_random_kernels.py SEED`` prints the kernel and what differs.
"""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula

sys.path.insert(0, str(Path(__file__).parent))
from random_kernels import N_IN, source

COUNT = int(os.environ.get("TEGULA_RANDOM_KERNELS", "48"))
TARGETS = ["cpu", "emu:sm_80", "emu:sm_90a"]
FOUND: list[int] = []  # seeds that failed once


def build(seed: int) -> tuple[Any, str]:
    text = source(seed, 2 + seed % 7)
    file = f"<random kernel {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"__name__": "random_kernel"}
    exec(compile(text, file, "exec"), scope)
    return scope["kernel"], text


def inputs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    xi = r.integers(-(2**40), 2**40, 2 * N_IN)
    xi[::3] = r.integers(-20, 20, xi[::3].shape)
    return xi, r.integers(-9, 10, 2 * N_IN).astype(np.float32)


def outputs(kernel: Any, seed: int, target: str) -> list[np.ndarray]:
    xi, xf = inputs(seed)
    out = [np.zeros(1 << 15, t) for t in (np.int64, np.float64, np.float64)]
    with tegula.knobs.runtime.scope():
        if target == "interp":
            tegula.knobs.runtime.interpret = True
            tegula.knobs.runtime.target = "cpu"
        else:
            tegula.knobs.runtime.target = target
        options = {"num_warps": [1, 2, 4, 8][seed % 4], "enable_fp_fusion": False}
        kernel[(1,)](xi, xf, *out, seed % 8, **options)
    return out


def compare(seed: int) -> str:
    """ "" or what differs."""
    kernel, text = build(seed)
    want = outputs(kernel, seed, "interp")
    for target in TARGETS:
        got = outputs(kernel, seed, target)
        for k, name in enumerate(["oi", "of"]):
            bad = np.flatnonzero(
                (got[k] != want[k]) & ~(np.isnan(got[k]) & np.isnan(want[k]))
            )
            if len(bad):
                i = bad[0]
                return (
                    f"seed {seed}, {target}: {name}[{i}] is {got[k][i]}, the interpreter "
                    f"gives {want[k][i]} ({len(bad)} differ)\n{text}"
                )
        if not np.allclose(got[2], want[2], rtol=1e-5, atol=1e-6, equal_nan=True):
            i = np.argmax(np.abs(got[2] - want[2]))
            said = f"oa[{i}] is {got[2][i]}, not {want[2][i]}"
            return f"seed {seed}, {target}: {said}\n{text}"
    return ""


@pytest.mark.parametrize("seed", [*range(COUNT), *FOUND])
def test_targets_agree(seed: int) -> None:
    difference = compare(seed)
    assert not difference, difference


if __name__ == "__main__":
    for word in sys.argv[1:]:
        low, _, high = word.partition("..")
        for number in range(int(low), int(high or low) + 1):
            try:
                said = compare(number)
            except Exception as e:  # the seed matters more than where
                said = f"seed {number}: {type(e).__name__}: {e}"
            if said:
                print(said, flush=True)
        print(f"{word}: done", flush=True)
