"""Whose entry is it? What a file of the cache says of itself is compared, not its name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_disk import files, folder, launch, make

import tegula
from tegula import _core, cache

__all__ = ["folder"]

SCRIPT = """
import numpy as np, tegula, tegula.language as tl
N = {n}

@tegula.constexpr_function
def c(k):
    return k + N

@tegula.jit
def kernel(out):
    tl.static_print("compiled with", c(1))
    tl.store(out, c(1))

out = np.zeros(1, np.int32)
print(kernel[(1,)](out).metadata.from_disk, out[0])
"""


def test_a_global_of_a_constexpr_function_is_in_the_key(folder, tmp_path):
    """And what a kernel prints while it is compiled is printed once a process."""
    script = tmp_path / "script.py"
    for n, from_disk in ((1, False), (1, True), (5, False), (1, True), (5, True)):
        script.write_text(SCRIPT.format(n=n))
        done = subprocess.run(
            [sys.executable, str(script)],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
                "TEGULA_CACHE_DIR": str(folder),
                "TEGULA_TARGET": "cpu",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split("\n")[:2] == [
            f"compiled with {1 + n}",
            f"{from_disk} {1 + n}",
        ]


def test_another_kernels_entry_under_this_name_is_a_miss(folder):
    """A copied cache directory, a script that renames: the head says whose entry it is."""
    launch(make())
    launch(make(), enable_fp_fusion=False)
    one, two = files(folder)
    mine = one.read_bytes()
    one.write_bytes(two.read_bytes())
    k, other = make(), make()
    first = launch(k)
    second = launch(other, enable_fp_fusion=False)
    assert sorted([first.metadata.from_disk, second.metadata.from_disk]) == [
        False,
        True,
    ]
    assert one.read_bytes() == mine  # made again, in its place


@pytest.mark.parametrize("at", [8, 27])
def test_another_builds_entry_is_a_miss(folder, at):
    """The head has the linker's hash of the compiler that wrote it."""
    launch(make())
    (path,) = files(folder)
    good = path.read_bytes()
    assert good[8:28].hex() == _core.build_id() != ""
    data = bytearray(good)
    data[at] ^= 1
    path.write_bytes(data)
    assert not launch(make()).metadata.from_disk
    assert path.read_bytes() == good
    assert cache.verify() == 0


MOVED = """
import sys
sys.path.insert(0, {folder!r})
from {name} import k
c = k.compile("*fp32:16", "*fp32", BLOCK=256, target="cuda:sm_90a")
print([(r.line, r.source.strip()) for r in c.report.rows])
print("helper" in c.report, c.report.count("(/"), "places" in c.asm)
"""
KERNEL = """
import tegula, tegula.language as tl
from {helper} import twice

@tegula.jit
def k(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, twice(tl.load(x + i)))
"""
HELPER = """
import tegula, tegula.language as tl

@tegula.jit
def twice(x):
    return tl.sum(x, 0) + x
"""


def test_a_report_names_the_lines_of_its_own_kernel(tmp_path):
    """Two files whose kernels have one IR share the entry, and not its lines."""
    said = {}
    for name, above in (("one", ""), ("two", "\n" * 20)):
        helper = f"helper_{name}"
        kernel = above + KERNEL.format(helper=helper)
        (tmp_path / f"{name}.py").write_text(kernel)
        (tmp_path / f"{helper}.py").write_text(above * 2 + HELPER)
        for store in ("shared", name):
            done = subprocess.run(
                [sys.executable, "-c", MOVED.format(folder=str(tmp_path), name=name)],
                env={
                    **os.environ,
                    "PYTHONPATH": str(Path(tegula.__file__).parents[1]),
                    "TEGULA_CACHE_DIR": str(tmp_path / store),
                },
                capture_output=True,
                text=True,
            )
            assert not done.returncode, done.stderr[-2000:]
            said[name, store] = done.stdout
    assert said["two", "shared"] == said["two", "two"]
    assert said["one", "shared"] == said["one", "one"] != said["two", "two"]
    assert len(list((tmp_path / "shared").glob("v2/*/*.bin"))) == 1
