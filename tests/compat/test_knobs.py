"""Knobs: the environment as it is now, what is assigned, scopes, and knobs of one's own."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs


@pytest.fixture(autouse=True)
def as_before():
    """Every group and variable is put back."""
    environment = dict(os.environ)
    groups = {k: v for k, v in vars(knobs).items() if isinstance(v, knobs.base_knobs)}
    kept = {name: dict(vars(g)) for name, g in groups.items()}
    yield
    os.environ.clear()
    os.environ.update(environment)
    for name, group in groups.items():
        vars(group).clear()
        vars(group).update(kept[name])
        setattr(knobs, name, group)


def fresh_kernel():
    @tegula.jit
    def double(x, BLOCK: tl.constexpr):
        at = x + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at) * 2)

    return double


def test_the_environment_is_read_when_a_knob_is(monkeypatch):
    assert knobs.autotuning.print is False
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "yes")
    assert knobs.autotuning.print is True
    monkeypatch.setenv("TEGULA_PRINT_AUTOTUNING", "0")  # ours wins
    assert knobs.autotuning.print is False
    monkeypatch.setenv("TEGULA_PRINT_AUTOTUNING", "perhaps")
    with pytest.raises(ValueError, match="TEGULA_PRINT_AUTOTUNING=perhaps: expected"):
        knobs.autotuning.print  # noqa: B018


def test_a_compile_reads_it_again(monkeypatch):
    x = np.ones(16, np.float32)
    kernel = fresh_kernel()
    assert kernel[(1,)](x, BLOCK=16).target == "cpu"
    monkeypatch.setenv("TEGULA_TARGET", "emu:sm_80")
    assert kernel[(1,)](x, BLOCK=16).target == "cpu"  # what is compiled stays
    assert kernel[(1,)](x, BLOCK=8).target == "emu:sm_80"
    assert fresh_kernel()[(1,)](x, BLOCK=16).target == "emu:sm_80"
    monkeypatch.delenv("TEGULA_TARGET")
    assert fresh_kernel()[(1,)](x, BLOCK=16).target == "cpu"
    assert x[0] == 32


def test_interpret_set_after_import(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    asm = fresh_kernel()[(1,)](np.ones(4, np.float32), BLOCK=4).asm
    assert "tir" in asm and "obj" not in asm


def test_what_is_assigned_stays_and_is_exported(monkeypatch):
    knobs.runtime.debug = True
    assert os.environ["TRITON_DEBUG"] == "1"
    monkeypatch.setenv("TRITON_DEBUG", "0")
    assert knobs.runtime.debug is True
    knobs.runtime.debug = knobs.env
    assert knobs.runtime.debug is False
    monkeypatch.setattr(knobs, "propagate_env", False)
    knobs.runtime.debug = True
    assert os.environ["TRITON_DEBUG"] == "0" and knobs.runtime.debug is True
    del knobs.runtime.debug
    assert knobs.runtime.debug is False


def test_a_child_inherits():
    knobs.cache.dir = "/somewhere/else"
    code = "from tegula import knobs; print(knobs.cache.dir)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.stdout.strip() == "/somewhere/else"


def test_scope_puts_back_variables_and_values():
    before = dict(os.environ)
    with pytest.raises(KeyError), knobs.compilation.scope():
        knobs.compilation.always_compile = True
        knobs.compilation.listener = print
        assert os.environ["TRITON_ALWAYS_COMPILE"] == "1"
        raise KeyError
    assert dict(os.environ) == before
    assert not knobs.compilation.always_compile and knobs.compilation.listener is None


def test_a_group_in_the_place_of_another():
    x = np.zeros(1, np.float32)
    old = knobs.runtime
    knobs.runtime = old.copy().reset()
    knobs.runtime.target = "emu:sm_80"
    assert fresh_kernel()[(1,)](x, BLOCK=1).target == "emu:sm_80"
    knobs.runtime = old
    assert fresh_kernel()[(1,)](x, BLOCK=1).target == "cpu"
    aside = knobs.runtime.copy()
    aside.target = "emu:sm_80"  # nobody reads it
    assert fresh_kernel()[(1,)](x, BLOCK=1).target == "cpu"


def test_home(monkeypatch):
    monkeypatch.delenv("TEGULA_CACHE_DIR", raising=False)
    assert knobs.cache.dir.endswith("tegula")
    monkeypatch.setenv("TRITON_HOME", "/big")
    assert knobs.cache.dir == "/big/.triton/cache"
    assert knobs.cache.dump_dir == "/big/.triton/dump"
    assert knobs.compilation.dump_dir is None
    knobs.cache.home_dir = "/bigger"
    assert knobs.cache.override_dir == "/bigger/.triton/override"


def test_dump_by_tritons_variables(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    fresh_kernel()[(1,)](np.ones(4, np.float32), BLOCK=4)
    assert list((tmp_path / ".triton" / "dump").rglob("*.tir"))


def test_libdevice_path(tmp_path):
    from tegula import toolchain

    knobs.nvidia.libdevice_path = str(tmp_path / "libdevice.bc")
    assert toolchain.find_libdevice() == str(tmp_path / "libdevice.bc")


def test_tools_know_their_version(monkeypatch, tmp_path):
    program = tmp_path / "ptxas"
    program.write_text(
        "#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V12.9.1'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(program))
    assert knobs.nvidia.ptxas.path == str(program)
    assert knobs.nvidia.ptxas.version == "12.9"


def test_groups_of_ones_own(monkeypatch):
    class mine(knobs.base_knobs):
        name = knobs.env_str("MINE_NAME", "none")
        loud = knobs.env_bool("MINE_LOUD")
        maybe = knobs.env_opt_bool("MINE_MAYBE")
        count = knobs.env_int("MINE_COUNT", 3)
        manager = knobs.env_class("MINE_MANAGER", "dict")
        places = knobs.env_strset("MINE_A", "MINE_B")

    group = mine()
    assert group.knobs == {
        "name": "none",
        "loud": False,
        "maybe": None,
        "count": 3,
        "manager": None,
        "places": set(),
    }
    monkeypatch.setenv("MINE_MAYBE", "off")
    monkeypatch.setenv("MINE_COUNT", "0x10")
    monkeypatch.setenv("MINE_MANAGER", "collections:OrderedDict")
    monkeypatch.setenv("MINE_B", "/b")
    assert group.maybe is False and group.count == 16 and group.places == {"/b"}
    assert group.manager.__name__ == "OrderedDict"
    with group.scope():
        group.manager = dict
        assert os.environ["MINE_MANAGER"] == "builtins:dict"
        other = group.copy()
        other.name = "other"
        assert group.name == "other"  # through the environment
        assert "name" not in vars(group)
    assert group.manager.__name__ == "OrderedDict" and group.name == "none"
    with pytest.raises(ValueError, match="MINE_COUNT=many: expected an integer"):
        monkeypatch.setenv("MINE_COUNT", "many")
        group.count  # noqa: B018


def test_compile_times():
    knobs.compilation.always_compile = True  # from the disk it costs nothing
    seen = []
    knobs.compilation.listener = lambda **kwargs: seen.append(kwargs["times"])
    fresh_kernel()[(1,)](np.ones(32, np.float32), BLOCK=32)
    (times,) = seen
    assert isinstance(times, knobs.CompileTimes) and times.total_lowering > 0
    assert times.total >= times.ir_initialization + times.total_lowering


def test_text_for_a_yes_or_no_is_read_as_in_the_environment():
    knobs.runtime.check_bounds = "0"
    assert knobs.runtime.check_bounds is False
    with pytest.raises(ValueError, match="check_bounds=perhaps: expected 1 or 0"):
        knobs.runtime.check_bounds = "perhaps"
    assert knobs.runtime.check_bounds is False


@pytest.mark.parametrize(
    "name, meant",
    [
        ("TEGULA_TARGT", "TEGULA_TARGET"),
        ("TEGULA_CHECK_BOUND", "TEGULA_CHECK_BOUNDS"),
        ("TEGULA_SANITIZE", None),
        ("TEGULA_OF_SOMEBODY_ELSE", None),
    ],
)
def test_a_misspelt_variable_is_told(monkeypatch, recwarn, name, meant):
    from tegula import knobs

    monkeypatch.setenv(name, "1")
    knobs._warn_of_misspelt()
    told = [str(w.message) for w in recwarn if name in str(w.message)]
    wanted = f"{name} is no variable that tegula reads; did you mean {meant!r}?"
    assert told == ([wanted] if meant else [])
