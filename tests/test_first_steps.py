"""The first op and the first pass of CONTRIBUTING.md, step by step on a copy of the tree.

A step is a numbered line with a file in front and a fence behind it:

    1. `csrc/ir/ops.def`, below the line `MATH(CEIL,`: ..
    2. `csrc/passes/run/order.c`, above the line `"dce",`: ..
    3. `python/tegula/language/math.py`, at the end: ..
    4. `tests/golden/fold/trunc.tir`, a new file: ..
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STEP = re.compile(
    r"^\d+\. `(?P<file>[^`]+)`, "
    r"(?P<where>below the line|above the line|at the end|a new file)"
    r"(?: `(?P<anchor>[^`]+)`)?:(?:(?!^```).)*?^```\w*\n(?P<text>.*?)^```$",
    re.M | re.S,
)


@dataclass
class Step:
    file: str
    where: str
    anchor: str
    text: str

    def perform(self, tree: Path) -> None:
        path = tree / self.file
        if self.where == "a new file":
            assert not path.exists(), f"{self.file} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text)
            return
        lines = path.read_text().splitlines(keepends=True)
        at = len(lines)
        if self.anchor:
            found = [
                i for i, x in enumerate(lines) if x.lstrip().startswith(self.anchor)
            ]
            assert len(found) == 1, f"{self.file}: {self.anchor} on lines {found}"
            at = found[0] + (self.where == "below the line")
        gap = "" if self.anchor else "\n\n"
        path.write_text("".join([*lines[:at], gap, self.text, *lines[at:]]))


def steps(section: str) -> list[Step]:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    part = page.split(f"## {section}\n")[1].split("\n## ")[0]
    found = [
        Step(**{k: v or "" for k, v in m.groupdict().items()})
        for m in STEP.finditer(part)
    ]
    assert len(found) == len(re.findall(r"^\d+\. ", part, re.M)), (
        "a step that nobody reads"
    )
    return found


def test_the_steps_fit_the_tree() -> None:
    """Quick, and before anything is built: files and lines that steps name are there."""
    op, first_pass = steps("The first op"), steps("The first pass")
    assert (len(op), len(first_pass)) == (4, 4)
    for step in [*op, *first_pass]:
        path = ROOT / step.file
        assert path.exists() == (step.where != "a new file"), step.file
        if step.anchor:
            lines = path.read_text().splitlines()
            assert sum(x.lstrip().startswith(step.anchor) for x in lines) == 1, step


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with all steps done, built. It takes over the objects of build/check, so what
    is compiled is what the steps touch."""
    objects = ROOT / "build/check"
    if not (ROOT / "build/config.mk").is_file() or not objects.is_dir():
        pytest.skip("nothing is built here: make check tirc")
    tree = tmp_path_factory.mktemp("steps") / "tree"
    for name in ("csrc", "python", "tests"):
        shutil.copytree(
            ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("Makefile", "pyproject.toml", "tutorials", "README.md", ".gitignore"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tree / name)
    (tree / "build").mkdir()
    shutil.copy2(ROOT / "build/config.mk", tree / "build/config.mk")
    linked = shutil.ignore_patterns("*.so", "*.a", "tirc", "ctest", "ptxsim")
    shutil.copytree(objects, tree / "build/check", ignore=linked)
    for step in [*steps("The first op"), *steps("The first pass")]:
        step.perform(tree)
    run(tree, "git", "init", "-q")  # gen.py asks git for the READMEs
    # An op is known to half of the files: they are compiled again, as quickly as may be.
    run(tree, "make", "-f", "csrc/Makefile", f"-j{os.cpu_count()}",
        f"PYTHON={sys.executable}", "WERROR=1", "core", "tirc")  # fmt: skip
    run(tree, sys.executable, "csrc/tools/gen.py")
    return tree


def run(tree: Path, *command: str) -> str:
    # make sanitize preloads a library, which this tree was not built for.
    env = {
        **os.environ,
        "PYTHONPATH": str(tree / "python"),
        "MAKEFLAGS": "",
        "LD_PRELOAD": "",
        "CFLAGS": "-O0 -g0",
    }
    done = subprocess.run(
        command,
        cwd=tree,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.mark.slow
def test_the_first_op(tree: Path) -> None:
    out = run(tree, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
              "tests/test_golden.py", "tests/test_reference.py",
              "tests/ops_suite/test_elementwise.py", "--full", "-k", "trunc")  # fmt: skip
    passed = re.search(r"^(\d+) passed", out, re.M)
    assert passed and int(passed[1]) >= 5, out
    assert "`trunc`" in (tree / "csrc/ir/README.md").read_text()
    assert (
        "def trunc(self)" in (tree / "python/tegula/language/_tensor.pyi").read_text()
    )


@pytest.mark.slow
def test_the_first_pass(tree: Path) -> None:
    out = run(tree, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
              "tests/test_golden.py", "-k", "add_negated")  # fmt: skip
    assert "1 passed" in out
    run(tree, "build/tirc", "--random", "0..50", "tile,check")
    assert "`add_negated`" in (tree / "csrc/passes/README.md").read_text()
