"""Products by copies of tensors, and by the interpreter: whole kernels on the simulated GPU
(fuzz_promoted.py), and the tile passes alone (`tirc --products`).

TEGULA_PROMOTED=100000        that many launches, and kernels, instead of 2000
TEGULA_SEED=7                 other ones
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_promoted

simulated = fuzz_promoted.simulated
TIRC = Path(__file__).parents[2] / "build" / "tirc"
CHUNK = 200  # launches
MANY = int(os.environ.get("TEGULA_PROMOTED", "2000"))
CHUNKS = -(-MANY // CHUNK)
FIRST = 1_000_000 * int(os.environ.get("TEGULA_SEED", "0"))


@pytest.mark.skipif(not simulated.available(), reason="no build/libptxsim.so, or a GPU")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random(chunk: int) -> None:
    first, n, n_copied = FIRST + CHUNK * chunk, 0, 0
    for seed in range(first, first + CHUNK // fuzz_promoted.LAUNCHES):
        said, launched, copied = fuzz_promoted.run(seed)
        assert not said
        n, n_copied = n + launched, n_copied + copied
    assert n_copied > n // 10  # what is not promoted proves nothing


@pytest.mark.skipif(not simulated.available(), reason="no build/libptxsim.so, or a GPU")
@pytest.mark.parametrize("seed", [29610000318])
def test_found(seed: int) -> None:
    """29610000318: strips whose place along K moves with the loop are no pair's."""
    said, _, n_copied = fuzz_promoted.run(seed)
    assert not said
    assert n_copied


def test_tile_passes() -> None:
    """The kernel as written and as the passes leave it, both interpreted, with the tensors
    that a launch makes; what fails is named with its seed, on stderr."""
    seeds = f"{FIRST}..{FIRST + MANY - 1}"
    done = subprocess.run(
        [TIRC, "--products", seeds, "copies"], capture_output=True, text=True
    )
    assert done.returncode == 0, f"tirc --products {seeds} copies: {done.stderr[:4000]}"
    counts = re.findall(
        r"^ *(\d+)  kernels$|^ *(\d+)  .*was compared$", done.stdout, re.M
    )
    (n, _), (_, n_compared) = counts
    assert int(n) == MANY
    assert int(n_compared) > 0.4 * MANY  # what is not promoted proves nothing


@pytest.mark.parametrize("seed", [900693879])
def test_an_index_beyond_64_bits_proves_nothing(seed: int) -> None:
    """shift / 2 * 8 * 8 is a little less than 2^64, a place in front of the pointer; the
    compiler takes it for what no memory has (assumption A of analysis/facts.c)."""
    done = subprocess.run(
        [TIRC, "--products", str(seed), "copies"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ *1  other, as an index wraps$", done.stdout, re.M)


def test_a_difference_is_told() -> None:
    """A copy that begins in the middle of 16 bytes, or goes astray, is no copy."""
    text = """\
// ARG: [0 x 64]
// ARG: [0 x 64]
func @k(%a: ptr<f16>, %b: ptr<f16>) {
  %n = const 8 : i64
  %t = tensor_map %a, %n, %n, %n {box=[8, 8]} : tmap
  %u = tensor_map %b, %n, %n, %n {box=[8, 8]} : tmap
  %zero = const 0 : i32
  %at = const AT : i32
  %x = map_load %t, %zero, FROM : f16[8, 8]
  map_store %u, TO, %zero, %x
  return
}
"""
    for at, source, to, says in (
        (8, "%at", "%at", ""),
        (-8, "%at", "%zero", ""),
        (4, "%at", "%zero", "a copy begins at element 4 of a row"),
        (-8, "%zero", "%at", "a copy begins in front of a tensor"),
    ):
        made = text.replace("AT", str(at)).replace("FROM", source).replace("TO", to)
        done = subprocess.run(
            [TIRC, "interp", "-"], input=made, capture_output=True, text=True
        )
        assert says in done.stderr if says else not done.returncode, done.stderr
