"""Any sequence of passes keeps what a function computes.

Random functions, interpreted before and after random sequences, must leave the same
bits in every buffer. (One pass at a time: test_random_ir.py.) The generator makes only
functions with one right answer. The sign and payload of a NaN are nobody's promise, so
all NaNs count as equal.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

TIRC = Path(__file__).parents[2] / "build" / "tirc"
TABLE = TIRC.parents[1] / "csrc" / "passes" / "passes.def"
PASSES = re.findall(r"^PASS\((\w+), *TILE", TABLE.read_text(encoding="utf-8"), re.M)
SEEDS = range(40)
FIRST = int(os.environ.get("TEGULA_SEED", "0"))


def interpret(seed: int, n_ops: int, words: str) -> str:
    args = [str(TIRC), "--random", str(seed), "-n", str(n_ops), words]
    done = subprocess.run(args, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(args)}\n{done.stderr}"
    return re.sub("-?nan", "nan", done.stdout)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_sequences_keep_the_meaning(seed: int) -> None:
    seed += FIRST
    draw = random.Random(seed)
    n_ops = draw.choice([10, 40, 80, 150])
    want = interpret(seed, n_ops, "interp")
    sequences = [",".join(draw.choices(PASSES, k=k)) for k in (2, 3, 6, 12)]
    sequences.append("tile,tile")
    for words in sequences:
        got = interpret(seed, n_ops, f"{words},interp")
        assert got == want, f"tirc --random {seed} -n {n_ops} {words},interp"


@pytest.mark.parametrize("seed", range(10))
def test_passes_are_deterministic_and_settle(seed: int) -> None:
    """Same input, same bytes out; and a second run finds nothing."""
    args = [str(TIRC), "--random", str(seed + FIRST), "-n", "80"]

    def run(words: str) -> str:
        return subprocess.run(
            [*args, words], capture_output=True, text=True, check=True
        ).stdout

    assert run("tile") == run("tile")
    assert run("fold") == run("fold,fold")
    assert run("cse") == run("cse,cse")
    assert run("dce") == run("dce,dce")
    assert run("licm") == run("licm,licm")
