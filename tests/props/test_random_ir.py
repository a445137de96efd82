"""Random functions: their text is read back, and their meaning does not change."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

TIRC = Path(__file__).parents[2] / "build" / "tirc"
SEEDS = range(40)
CHUNKS = [f"{10 * i}..{10 * i + 9}" for i in range(5)]
TABLE = TIRC.parents[1] / "csrc" / "passes" / "passes.def"
PASSES = re.findall(r"^PASS\((\w+), *TILE", TABLE.read_text(encoding="utf-8"), re.M)


def gpu_arch() -> str | None:
    """ "90a" for the first GPU; None without one."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0):
        return None
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
    return f"{major.value}{minor.value}" + ("a" if major.value >= 9 else "")


def tirc(*args: str, text: str = "") -> str:
    if not TIRC.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    done = subprocess.run(
        [TIRC, *args], input=text, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"tirc {' '.join(args)}: {done.stderr}"
    return done.stdout


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_text_is_a_fixed_point(seed: int) -> None:
    text = tirc("--random", str(seed), "print")
    body = text[text.index("func") :]
    assert tirc("print", "-", text=text) == body


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_text_means_the_same(seed: int) -> None:
    text = tirc("--random", str(seed), "print")
    assert tirc("interp", "-", text=text) == tirc("--random", str(seed), "interp")


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", [*PASSES, "tile"])
@pytest.mark.parametrize("seed", SEEDS)
def test_passes_keep_the_meaning(name: str, seed: int) -> None:
    random = ["--random", str(seed), "-n", str(20 + seed)]
    want = tirc(*random, "interp")
    assert tirc(*random, f"{name},interp") == want


# A chunk of seeds is one process; what fails is named with its seed on stderr. -e 0: the
# code gives what the interpreter gives, bit for bit.
@pytest.mark.one_in(8)
@pytest.mark.parametrize("n_ops", [20, 60, 120])
@pytest.mark.parametrize("words", ["check", "tile,check"])
@pytest.mark.parametrize("seeds", CHUNKS)
def test_cpu(seeds: str, words: str, n_ops: int) -> None:
    tirc("-t", "cpu", "-e", "0", "--random", seeds, "-n", str(n_ops), words)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("target", ["emu:75", "emu:80", "emu:90a"])
@pytest.mark.parametrize("seeds", CHUNKS)
def test_emulator(seeds: str, target: str, warps: int) -> None:
    machine = ["-t", target, "-w", str(warps), "-e", "0"]
    tirc(*machine, "--random", seeds, "-n", "60", "tile,simt,check")


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("seeds", CHUNKS)
def test_gpu(seeds: str, warps: int) -> None:
    arch = gpu_arch()
    if arch is None:
        pytest.skip("no GPU")
    machine = ["-t", f"cuda:{arch}", "-w", str(warps), "-e", "0"]
    tirc(*machine, "--random", seeds, "-n", "60", "tile,simt,check")


FOUND = sorted(Path(__file__).with_name("found").glob("*.tir"))


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_found(file: Path) -> None:
    """What failed once, as small as shrink_text.py makes it; its first line is the call."""
    text = file.read_text(encoding="utf-8")
    tirc(*text.splitlines()[0].removeprefix("// RUN:").split(), "-", text=text)


# ---- sides that are no powers of two ------------------------------------------------


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_padding_keeps_the_meaning(seed: int) -> None:
    odd = ["--odd", str(seed), "-n", str(20 + seed)]
    text = tirc(*odd, "print")
    body = text[text.index("func") :]
    assert tirc("print", "-", text=text) == body
    want = tirc(*odd, "interp")
    for words in ("pad_blocks", "tile", "tile,tile", "pad_blocks,pad_blocks"):
        assert tirc(*odd, f"{words},interp") == want, words


@pytest.mark.one_in(8)
@pytest.mark.parametrize("n_ops", [20, 60, 120])
@pytest.mark.parametrize("seeds", CHUNKS)
def test_odd_sides_on_cpu(seeds: str, n_ops: int) -> None:
    for words in ("pad_blocks,check", "tile,check"):
        tirc("-t", "cpu", "-e", "0", "--odd", seeds, "-n", str(n_ops), words)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("target", ["emu:75", "emu:80", "emu:90a"])
@pytest.mark.parametrize("seeds", CHUNKS)
def test_odd_sides_on_emulator(seeds: str, target: str, warps: int) -> None:
    machine = ["-t", target, "-w", str(warps), "-e", "0"]
    tirc(*machine, "--odd", seeds, "-n", "60", "tile,simt,check")
