"""The cache on disk: found again, never believed blindly, never in the way."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import cache


@pytest.fixture
def folder(tmp_path):
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        yield tmp_path


def test_a_tilde_is_the_users_home(monkeypatch, tmp_path):
    """In a knob as in a variable: no folder is named "~"."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = "~/one"
        launch(make())
        assert tegula.knobs.cache.dir == str(tmp_path / "one")
        del tegula.knobs.cache.dir
        monkeypatch.setenv("TEGULA_CACHE_DIR", "~/two")
        launch(make(), n=32)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "two"]


def make():
    @tegula.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

    return kernel


def launch(k, n=64, **kwargs):
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    compiled = k[(1,)](x, out, n, BLOCK=64, **kwargs)
    assert out.sum() == 2 * n
    return compiled


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("v2/*/*.bin"))


def test_a_second_kernel_of_the_same_source_is_read(folder):
    first = launch(make())
    assert not first.metadata.from_disk and len(files(folder)) == 1
    second = launch(make())
    assert second.metadata.from_disk and second.hash == first.hash
    assert (
        second.asm["obj"] == first.asm["obj"] and second.asm["tir"] == first.asm["tir"]
    )
    assert second._answers == first._answers


def test_other_options_and_constants_are_other_files(folder):
    launch(make())
    launch(make(), enable_fp_fusion=False)
    assert len(files(folder)) == 2


def test_answers_are_part_of_what_is_looked_up(folder):
    k = make()
    launch(k, 64)
    launch(k, 33)
    launch(k, 1)
    n = len(k.variants)
    again = make()
    for value in (1, 33, 64):
        assert launch(again, value).metadata.from_disk
    assert len(again.variants) == n == len(files(folder))


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "empty":
        data = bytearray()
    elif how == "head":
        data[0] ^= 255
    elif how == "length":
        data[8] ^= 255
    elif how == "middle":
        data[len(data) // 2] ^= 1
    elif how == "longer":
        data += b"x"
    path.write_bytes(data)


@pytest.mark.parametrize(
    "how", ["truncated", "empty", "head", "length", "middle", "longer"]
)
def test_damaged_files_are_made_again(folder, how):
    launch(make())
    (path,) = files(folder)
    good = path.read_bytes()
    damage(path, how)
    assert not launch(make()).metadata.from_disk
    assert path.read_bytes() == good
    assert launch(make()).metadata.from_disk


def test_verify_and_list_and_prune(folder, capsys):
    launch(make())
    launch(make(), enable_fp_fusion=False)
    assert cache.verify() == 0
    assert cache.show() == 0 and "kernel for cpu" in capsys.readouterr().out
    damage(files(folder)[0], "middle")
    assert cache.verify() == 1 and len(files(folder)) == 1
    cache.prune(0)
    assert files(folder) == []


def test_prune_drops_what_was_not_used_for_longest(folder):
    a, b = make(), make()
    launch(a)
    launch(b, enable_fp_fusion=False)
    old, new = files(folder)
    os.utime(old, (1, 1))
    cache.prune(new.stat().st_size * 3 // 2)
    assert files(folder) == [new]


def test_always_compile(folder):
    launch(make())
    with tegula.knobs.compilation.scope():
        tegula.knobs.compilation.always_compile = True
        assert not launch(make()).metadata.from_disk


@pytest.mark.parametrize("place", ["", "/proc/nowhere", "file"])
def test_a_disk_that_does_not_work_is_a_miss(tmp_path, place):
    if place == "file":
        (tmp_path / "file").write_text("")
        place = str(tmp_path / "file")
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = place
        assert not launch(make()).metadata.from_disk


def test_a_changed_callee_is_another_kernel(folder):
    def with_helper(factor):
        @tegula.jit
        def twice(x):
            return x + x

        @tegula.jit
        def once(x):
            return x

        helper = twice if factor == 2 else once

        @tegula.jit
        def kernel(out):
            tl.store(out, helper(3))

        return kernel

    out = np.zeros(1, np.int32)
    for factor, expected in ((2, 6), (1, 3), (2, 6)):
        with_helper(factor)[(1,)](out)
        assert out[0] == expected


def test_processes_share_it(folder, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "from test_disk import launch, make\n"
        "print(launch(make()).metadata.from_disk)\n"
    )
    env = {
        **os.environ,
        "PYTHONPATH": os.path.dirname(os.path.dirname(tegula.__file__)),
        "TEGULA_CACHE_DIR": str(folder),
    }
    running = [
        subprocess.Popen([sys.executable, str(script)], env=env, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert all(p.wait() == 0 for p in running)
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, check=True
    )
    assert done.stdout.strip() == b"True"
    assert not list(folder.glob("v2/*/.new-*"))


def test_threads_write_at_once(folder):
    kernels = [make() for _ in range(6)]
    threads = [threading.Thread(target=launch, args=(k,)) for k in kernels]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert launch(make()).metadata.from_disk


LIBRARY = """
import numpy as np, tegula, tegula.language as tl

@tegula.jit
def kernel(x):
    i = tl.arange(0, 2)
    tl.store(x + i, tl.flip(tl.load(x + i), 0))

x = np.arange(2, dtype=np.float32)
print(kernel[(1,)](x).metadata.from_disk, x[0])
"""


def test_an_edited_library_is_another_compiler(tmp_path):
    """The functions of tegula.language are in machine code, too."""
    package = Path(tegula.__file__).parent
    copy = tmp_path / "tegula"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for core in package.glob("_core*.so"):
        (copy / core.name).symlink_to(core)
    script = tmp_path / "script.py"
    script.write_text(LIBRARY)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "TEGULA_TARGET": "cpu"}
    env["TEGULA_CACHE_DIR"] = str(tmp_path / "cache")

    def run() -> str:
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return done.stdout.strip()

    assert run() == "False 1.0"
    assert run() == "True 1.0"
    library = copy / "language" / "standard.py"
    text = library.read_text()
    flipped = "return core.gather(x, x.shape[at] - 1 - _place_along(x, at), at)"
    assert text.count(flipped) == 1
    library.write_text(text.replace(flipped, "return x"))
    assert run() == "False 0.0"
    assert run() == "True 0.0"


ASSERTS = """
import tegula
import tegula.language as tl

@tegula.jit
def helper(x):
    tl.device_assert(x > 0, "positive")

@tegula.jit
def kernel(x):
    helper(tl.load(x))
"""


@pytest.mark.parametrize("old", ["\nimport tegula\n", "helper(x):\n    tl.dev"])
def test_what_names_its_lines_is_another_when_they_move(folder, tmp_path, old):
    """The line of a failed assertion is in the code: above it, or in front of it, comes
    another one."""
    file = tmp_path / "moved.py"
    for n in (0, 2):
        new = "\n# more" * n + old if old[0] == "\n" else old
        new = new.replace("    tl", "    # more\n" * n + "    tl")
        file.write_text(ASSERTS.replace(old, new))
        module = runpy.run_path(str(file))
        with pytest.raises(tegula.errors.DeviceAssertError) as e:
            module["kernel"][(1,)](np.zeros(1, np.float32), debug=True)
        assert f"moved.py:{7 + n}:" in str(e.value)
        module["kernel"][(1,)](np.ones(1, np.float32), debug=True)
    again = runpy.run_path(str(file))["kernel"]
    assert again[(1,)](np.ones(1, np.float32), debug=True).metadata.from_disk
