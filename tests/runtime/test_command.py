"""python -m tegula: each command does what its help says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tegula import __main__ as command
from tegula import explanations, knobs, tuning, tutorial

ROOT = Path(__file__).parents[2]
KERNEL = """
import numpy as np, tegula, tegula.language as tl

@tegula.jit
def shift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(n > 0)
    tl.store(y_ptr + i, tl.load(x_ptr + i))

if __name__ == "__main__":
    import sys
    x = np.ones(100, np.float32)
    shift[(1,)](x[:50], np.empty(64, np.float32), 1, BLOCK=64)
    print("ran with", sys.argv[1:], tegula.knobs.runtime.target)
"""


def tegula(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tegula", *args],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **env},
    )


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "shift.py"
    path.write_text(KERNEL)
    return str(path)


def test_doctor(tmp_path):
    done = tegula("doctor", TEGULA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert re.search(r"run on emu:sm_80 +right", done.stdout)
    assert re.search(r"compile for cuda:sm_90a +\d+ bytes of PTX", done.stdout)


def test_version():
    assert re.fullmatch(r"tegula \d+\.\d+\.\d+\n", tegula("--version").stdout)


def test_run(script, tmp_path):
    env = {"TEGULA_CACHE_DIR": str(tmp_path)}
    assert (
        "ran with ['a', '--b'] None" in tegula("run", script, "a", "--b", **env).stdout
    )
    for options in (["--emu"], ["--target", "emu:sm_90"], ["--interpret"]):
        done = tegula("run", *options, script, **env)
        assert done.returncode and "OutOfBoundsError" in done.stderr, options


def test_run_check(tmp_path):
    path = tmp_path / "assertion.py"
    text = KERNEL.replace("n > 0", "n > 1").replace("x[:50]", "x")
    path.write_text(text)
    env = {"TEGULA_CACHE_DIR": str(tmp_path)}
    assert tegula("run", str(path), **env).returncode == 0
    assert "DeviceAssertError" in tegula("run", "--check", str(path), **env).stderr
    assert "one of --check" in tegula("run", "--check", "--emu", str(path)).stderr
    path.write_text(KERNEL.replace("x[:50]", "x"))
    said = tegula("run", "--check", str(path), **env)
    assert said.returncode == 0 and said.stderr == "run: nothing amiss in shift\n"
    path.write_text("print(1)")
    assert tegula("run", "--emu", str(path), **env).stderr == "run: no kernel ran\n"


@pytest.mark.parametrize("words", [["run"], ["report"], ["compile"]])
def test_a_script_that_is_not_there(words):
    name = "nowhere.py" + ":kernel" * (words == ["compile"])
    with pytest.raises(SystemExit, match=r"there is no file 'nowhere\.py'"):
        command.main([*words, name])


def test_without_a_command(capsys):
    assert command.main([]) == 2
    assert "copy the notebooks" in capsys.readouterr().out


def test_compile(script, capsys, monkeypatch):
    types = ["*fp32:16", "*fp32:16", "i32", "BLOCK=256"]
    args = ["compile", f"{script}:shift", *types, "--target", "cuda:sm_90a"]
    assert command.main([*args, "--show", "tir,ptx,report"]) == 0
    said = capsys.readouterr().out
    assert "func @shift" in said and ".entry shift" in said and "of 8 bytes" in said
    assert command.main([*args[:-3], "--show", "tir"]) == 1  # without BLOCK
    assert "misses 1 argument: 'BLOCK'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"no kernel 'shirt'; there are: .*shift"):
        command.main(["compile", f"{script}:shirt"])
    with pytest.raises(SystemExit, match="no stage 'ptx'"):
        command.main(["compile", f"{script}:shift", *types, "--show", "ptx"])
    # Neither an assembler nor a disassembler is needed to be told what is missing.
    monkeypatch.setattr("tegula.compiled.tool", lambda name: None)
    with pytest.raises(SystemExit, match="sass"):
        command.main([*args, "--show", "sass"])


def test_explain(capsys):
    assert command.main(["explain", "CompileError[SHAPE]"]) == 0
    assert capsys.readouterr().out.startswith("SHAPE: Two blocks do not fit.")
    assert command.main(["explain", "shap"]) == 1
    assert "did you mean 'SHAPE'?" in capsys.readouterr().out


def test_every_code_is_explained():
    table = (ROOT / "csrc/base/errors.def").read_text()
    rows = dict(re.findall(r"^ERR\((\w+), +(\w+),", table, re.M))
    met = {name for name, fault in rows.items() if fault in ("USER", "LIMIT")}
    assert met - {"PARSE_IR"} == set(explanations.TEXTS)


def test_tutorial(tmp_path, capsys):
    if not tutorial.folder():
        pytest.skip("this copy of the package has no notebooks beside it")
    target = tmp_path / "books"
    assert command.main(["tutorial", str(target)]) == 0
    books = sorted(p.name for p in target.glob("*.ipynb"))
    assert books == sorted(p.name for p in (ROOT / "tutorials").glob("*.ipynb"))
    (target / books[0]).write_text("mine")
    assert command.main(["tutorial", str(target)]) == 0
    assert (target / books[0]).read_text() == "mine"
    assert "kept as it is" in capsys.readouterr().out
    assert command.main(["tutorial", str(target / books[0] / "below")]) == 1
    assert "can be made: Not a directory" in capsys.readouterr().out


def test_sizes():
    sizes = [command.n_bytes(x) for x in ("17", "2K", "1M", "0.5G")]
    assert sizes == [17, 2048, 1 << 20, 1 << 29]


def test_tuning_files(tmp_path, capsys):
    rows = [
        {"config": {"B": 1, "num_warps": 4}, "ms": [3.0, 2.0, 4.0], "why": ""},
        {"config": {"B": 2, "num_warps": 4}, "ms": [1.0, 1.0, 1.0], "why": ""},
    ]
    record = {"kernel": "mm", "machine": "cpu", "key": ["x", "5"], "rows": rows}
    path = tuning.path_of(str(tmp_path), "mm", ["a"])
    tuning.write_json(path, record)

    def said(*words):
        assert command.main(list(words)) == 0
        return capsys.readouterr().out

    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        listed = said("tune")
        assert "mm for x, 5, on cpu" in listed and "B: 2" in listed
        assert "B: 1" not in listed and "leads by 200%" in listed
        assert "B: 1" in said("tune", "show", "mm")
        assert said("tune", "show", "other") == "0 results\n"
        assert command.main(["tune", "pin", "mm", "num_warps: 4"]) == 1  # of both
        assert "2 configurations say" in capsys.readouterr().out
        assert said("tune", "pin", "mm", "B: 1") == "1 results pinned\n"
        assert "pinned: B: 1, num_warps: 4" in said("tune", "list")
        file = str(tmp_path / "mm.json")
        assert said("tune", "export", "mm", file) == f"1 results in {file}\n"
        (exported,) = tuning.read_results(file)
        assert tuning.fastest(exported) == {"B": 1, "num_warps": 4}
        assert said("tune", "pin", "mm", "none") == "1 results unpinned\n"
        assert tuning.fastest(tuning.read_record(path))["B"] == 2
        assert "1 results of autotuning" in said("cache")
        said("cache", "prune", "--max-bytes", "1K")
        assert tuning.read_record(path)
        assert said("tune", "clear", "mm") == "1 results removed\n"
        tuning.write_json(path, {"rows": 5})
        assert "damaged" in said("tune", "list")
        said("cache", "prune", "--max-bytes", "0")
        assert not Path(path).exists()


def test_a_reader_that_has_seen_enough():
    """A pipe that nobody reads any more ends a command quietly."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "tegula", "knobs"],
        stdout=write,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        timeout=600,
    )
    os.close(write)
    assert done.returncode == 0 and not done.stderr


def test_help_of_the_package():
    import tegula as package

    for name in ("jit", "autotune", "cdiv", "compile", "ops", "knobs"):
        assert f"{name} " in package.__doc__ and hasattr(package, name)
