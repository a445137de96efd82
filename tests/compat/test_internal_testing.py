"""triton._internal_testing: what libraries' own test suites import."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs
from tegula.compat import driver

torch = pytest.importorskip("torch")
from tegula.compat import _internal_testing as testing  # noqa: E402


@tegula.jit
def double(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) + tl.load(x + i))


@pytest.mark.parametrize("name", [*testing.dtypes_with_bfloat16, "bool"])
def test_there_and_back(name):
    x = testing.numpy_random(64, name, np.random.RandomState(3))
    y = testing.to_triton(x, "cpu", name)
    np.testing.assert_array_equal(testing.to_numpy(y), x)
    assert testing.torch_dtype_name(y.dtype) in (name, "float32")
    if name == "bool":
        return
    out = testing.to_triton(np.zeros_like(x), "cpu", name)
    double[(1,)](y, out, 64)
    with np.errstate(over="ignore"):
        want = x + x
    if name == "bfloat16":
        want = testing.to_numpy(torch.tensor(want).bfloat16())
    np.testing.assert_array_equal(testing.to_numpy(out), want)


def test_random_numbers():
    x = testing.numpy_random((1000,), "int8", low=-1, high=2)
    assert set(x) == {-1, 1}  # no 0
    again = testing.numpy_random((1000,), "int8", low=-1, high=2)
    np.testing.assert_array_equal(x, again)
    bits = testing.numpy_random(100, "bfloat16").view(np.uint32)
    assert not (bits & 0xFFFF).any()
    f8 = testing.numpy_random(32, "float8_e5m2")
    wrapped = testing.to_triton(f8, "cpu", "float8e5")
    assert wrapped.dtype == tl.float8e5
    assert testing.unwrap_tensor(wrapped).dtype == torch.int8
    with pytest.raises(RuntimeError, match="complex64"):
        testing.numpy_random(4, "complex64")


def test_the_machine():
    target = driver.active.get_current_target()
    assert testing.is_cuda() == (target.backend == "cuda")
    assert testing.get_arch() == str(target.arch)
    assert not testing.is_hip() and not testing.is_xpu()
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        assert testing.is_interpreter() and testing.supports_tma()
        assert testing.get_current_target() is None and not testing.is_cuda()


def test_a_hopper():
    driver.set_active(driver._machine("emu:sm_90a"))
    try:
        assert testing.is_cuda() and testing.is_hopper() and testing.supports_ws()
        assert testing.is_ampere_or_newer() and not testing.is_blackwell()
    finally:
        driver.reset_active()


def test_what_is_chosen(monkeypatch):
    """Triton's private names for it, which programs read and set."""
    assert driver._active is None and driver._default is None
    hopper, ampere = driver._machine("emu:sm_90a"), driver._machine("emu:sm_80")
    driver.set_active(hopper)
    assert driver._active is driver.active is hopper
    driver.set_active_to_default()
    assert driver._active is None and driver.active is driver.default
    monkeypatch.setattr(driver, "_default", ampere)
    assert driver.active is driver.default is ampere
    monkeypatch.setattr(driver, "_active", hopper)
    assert driver.active is hopper and driver.default is ampere


def test_fresh_knobs(monkeypatch):
    monkeypatch.setenv("TRITON_DEBUG", "1")
    monkeypatch.setenv("TEGULA_CACHE_DIR", "/nowhere")
    before = dict(os.environ), knobs.cache.dir
    assert knobs.runtime.debug
    fresh, put_back = testing._fresh_knobs_impl({"nvidia"})
    try:
        assert not fresh().runtime.debug
        assert knobs.cache.dir != "/nowhere" and knobs.propagate_env
        knobs.compilation.always_compile = True
        assert "TRITON_ALWAYS_COMPILE" in os.environ
    finally:
        put_back()
    assert (dict(os.environ), knobs.cache.dir) == before
    assert knobs.runtime.debug and not knobs.compilation.always_compile


def _client(how, where=""):
    if how == "exit":
        os._exit(3)
    os.write(2, os.environ.get("SAID", "nothing").encode())
    if how == "raise":
        raise ValueError(f"no {where}")
    import triton

    assert triton.__tegula_version__ == tegula.__version__


def test_processes():
    result = testing.run_in_process(_client, ("raise",), {"where": "way"})
    assert isinstance(result.exc, ValueError) and str(result.exc) == "no way"
    result = testing.run_in_process(_client, ("pass",), env={"SAID": "this"})
    assert result.exc is None and result.driver_stderr_output == "this"
    with pytest.raises(RuntimeError, match="ended with 3"):
        testing.run_in_process(_client, ("exit",))
