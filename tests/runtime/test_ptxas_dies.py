"""A ptxas that dies of a signal is asked for code that it optimises less.

The assembler here is a script that kills itself unless its options have the level that a
test wants, and notes each run in a file.
"""

from __future__ import annotations

import signal as signals
import stat
import warnings
from pathlib import Path
from typing import Any

import pytest

import tegula
import tegula.language as tl

# A shell with a sanitizer inside catches the signal that it sends itself, and exits.
SCRIPT = """#!/bin/sh
[ -z "$LD_PRELOAD" ] || exec env -u LD_PRELOAD sh "$0" "$@"
echo "$*" >> "{runs}"
level=-O3
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    -O*) level=$1 ;;
    *.ptx) in=$1 ;;
    esac
    shift
done
case $level in
{lives}) ;;
*) echo 'ptxas info : so far, so good'; kill -{signal} $$ ;;
esac
if grep -q wgmma "$in" && [ {dies_of} = wgmma ]; then kill -{signal} $$; fi
echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
echo "ptxas info : Used 99 registers, used 1 barriers"
cp "$in" "$out"
"""


@tegula.jit
def shifted(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) + 1)


@tegula.jit
def product(a, b, c):
    i, j, k = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    x = tl.load(a + i[:, None] * 64 + k[None, :])
    y = tl.load(b + k[:, None] * 64 + j[None, :])
    tl.store(c + i[:, None] * 64 + j[None, :], tl.dot(x, y))


class Fake:
    """The script, and what it was run with."""

    def __init__(self, folder: Path, lives: str, signal: str = "SEGV", **more: str):
        self.runs = folder / "runs"
        self.path = folder / "ptxas"
        text = SCRIPT.replace("{lives}", lives).replace("{signal}", signal)
        text = text.replace("{runs}", str(self.runs))
        self.path.write_text(text.replace("{dies_of}", more.get("dies_of", "none")))
        self.path.chmod(stat.S_IRWXU)

    def levels(self) -> list[str]:
        """Of each run so far; "" where no level was asked for."""
        runs = self.runs.read_text().splitlines()
        return [" ".join(w for w in run.split() if w.startswith("-O")) for run in runs]

    def compile(self, kernel: Any = shifted, cache: str = "", **options: Any) -> Any:
        types = ["*fp32", "*fp32"] if kernel is shifted else ["*fp16:16"] * 3
        if kernel is shifted:
            options["BLOCK"] = 64
        with tegula.knobs.nvidia.scope(), tegula.knobs.cache.scope():
            tegula.knobs.nvidia.ptxas = str(self.path)
            tegula.knobs.cache.dir = cache
            return tegula.jit(kernel.fn).compile(
                *types, target="cuda:sm_90a", **options
            )


@pytest.mark.parametrize("signal", ["SEGV", "ABRT", "KILL"])
@pytest.mark.parametrize(
    ("lives", "levels"), [("-O1", ["", "-O1"]), ("-O0", ["", "-O1", "-O0"])]
)
def test_lower_levels_are_tried(tmp_path, signal, lives, levels):
    fake = Fake(tmp_path, lives, signal)
    said = rf"test_ptxas_dies\.py:\d+: ptxas died of kernel shifted\(\).* with {lives}"
    with pytest.warns(UserWarning, match=said):
        c = fake.compile()
    assert fake.levels() == levels
    assert f"is assembled with {lives}" in str(c.report)
    assert c.asm["cubin"] and c.n_regs == 99


def test_nothing_is_said_of_one_that_lives(tmp_path):
    fake = Fake(tmp_path, "-O3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = fake.compile()
    assert fake.levels() == [""] and "ptxas died" not in str(c.report)


def test_it_is_said_once_and_of_what_is_on_disk(tmp_path):
    fake = Fake(tmp_path, "-O0")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for _ in range(3):
            c = fake.compile(cache=str(tmp_path / "cache"))
    assert len([w for w in said if "ptxas died" in str(w.message)]) == 1
    assert len(fake.levels()) == 3 and "with -O0" in str(c.report)


def test_one_that_dies_at_all_levels(tmp_path):
    fake = Fake(tmp_path, "-O9")
    with pytest.raises(tegula.PTXASError) as e:
        fake.compile()
    said = str(e.value)
    assert "it dies of kernel shifted(), and of less optimised code, too" in said
    assert "ended by signal 11\n" in said and "TEGULA_PTXAS" in said
    assert "so far, so good" in said and len(fake.levels()) == 3


def test_a_level_that_was_asked_for_stays(tmp_path):
    fake = Fake(tmp_path, "-O0")
    with pytest.raises(tegula.PTXASError, match="dies of kernel shifted\\(\\): with"):
        fake.compile(ptx_options="-O2")
    assert fake.levels() == ["-O2"]


def test_other_options_stay(tmp_path):
    fake = Fake(tmp_path, "-O1")
    with pytest.warns(UserWarning, match="ptxas died"):
        fake.compile(ptx_options="--warn-on-spills")
    assert all("--warn-on-spills" in run for run in fake.runs.read_text().splitlines())


@pytest.mark.parametrize("signal", ["INT", "TERM", "HUP", "QUIT"])
def test_one_that_somebody_ends(tmp_path, signal):
    if signals.getsignal(signals.Signals[f"SIG{signal}"]) == signals.SIG_IGN:
        pytest.skip("children inherit that it is ignored, as under nohup")
    fake = Fake(tmp_path, "-O0", signal)
    with pytest.raises(tegula.PTXASError, match="ended by signal"):
        fake.compile()
    assert fake.levels() == [""]


def test_an_error_is_no_death(tmp_path):
    fake = Fake(tmp_path, "-O0")
    fake.path.write_text(fake.path.read_text().replace("kill -SEGV $$", "exit 139"))
    with pytest.raises(tegula.PTXASError, match="exit status 139"):
        fake.compile()
    assert fake.levels() == [""]


def test_code_without_warpgroups_is_better(tmp_path):
    """Than code with them that is not optimised."""
    fake = Fake(tmp_path, "-O*", dies_of="wgmma")
    fake.path.write_text(
        fake.path.read_text().replace("= wgmma ]", "= wgmma ] && [ $level != -O0 ]")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = fake.compile(product)
    assert "wgmma" not in c.asm["ptx"] and "" in fake.levels()[1:]
    assert "ptxas dies of the code" in str(c.report)
