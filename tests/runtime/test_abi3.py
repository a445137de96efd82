"""One binary for every Python from 3.11 on: the newer ones of this machine run it too."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tegula

OTHERS = [f"3.{minor}" for minor in range(11, 16) if minor != sys.version_info.minor]


def find(version: str) -> str | None:
    found = shutil.which(f"python{version}")
    roots = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}*/bin/python"))
    for path in [*([found] if found else []), *roots]:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return path
    return None


def run(version: str, script: str, *args: str, **env: str) -> str:
    """What the script of this folder prints in that Python."""
    python = find(version)
    if not python:
        pytest.skip(f"no Python {version} here")
    if "LD_PRELOAD" in os.environ:
        pytest.skip("a sanitizer's library is loaded for this Python")
    done = subprocess.run(
        [python, "-X", "dev", str(Path(__file__).with_name(script)), *args],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(tegula.__file__).parents[1]), **env},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("version", OTHERS)
def test_other_python(version):
    assert run(version, "other_python.py").startswith("ok")


@pytest.mark.parametrize("version", OTHERS)
def test_edits_in_other_python(version, tmp_path):
    said = run(
        version,
        "edits_elsewhere.py",
        str(tmp_path),
        TEGULA_CACHE_DIR=str(tmp_path / "cache"),
        TEGULA_TARGET="cpu",
    )
    assert int(said.split()[1]) >= 700
