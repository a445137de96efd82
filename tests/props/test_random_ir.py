"""Random functions: their text is read back, and their meaning does not change."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TIRC = Path(__file__).parents[2] / "build" / "tirc"
SEEDS = range(40)
TABLE = TIRC.parents[1] / "csrc" / "passes" / "passes.def"
PASSES = re.findall(r"^PASS\((\w+), *TILE", TABLE.read_text(encoding="utf-8"), re.M)


def tirc(*args: str, text: str = "") -> str:
    if not TIRC.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    done = subprocess.run(
        [TIRC, *args], input=text, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"tirc {' '.join(args)}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_text_is_a_fixed_point(seed: int) -> None:
    text = tirc("--random", str(seed), "print")
    body = text[text.index("func") :]
    assert tirc("print", "-", text=text) == body


@pytest.mark.parametrize("seed", SEEDS)
def test_text_means_the_same(seed: int) -> None:
    text = tirc("--random", str(seed), "print")
    assert tirc("interp", "-", text=text) == tirc("--random", str(seed), "interp")


@pytest.mark.parametrize("name", [*PASSES, "tile"])
@pytest.mark.parametrize("seed", SEEDS)
def test_passes_keep_the_meaning(name: str, seed: int) -> None:
    random = ["--random", str(seed), "-n", str(20 + seed)]
    want = tirc(*random, "interp")
    assert tirc(*random, f"{name},interp") == want


@pytest.mark.parametrize("seed", SEEDS)
def test_cpu_agrees_with_the_interpreter(seed: int) -> None:
    random = ["-e", "0", "--random", str(seed), "-n", str(20 + 2 * seed)]
    tirc("-t", "cpu", *random, "tile,check")


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("target", ["emu:75", "emu:80", "emu:90a"])
@pytest.mark.parametrize("seed", SEEDS)
def test_emulator_agrees_with_the_interpreter(
    target: str, warps: int, seed: int
) -> None:
    random = ["-e", "0", "--random", str(seed), "-n", str(20 + seed)]
    tirc("-t", target, "-w", str(warps), *random, "tile,simt,check")
