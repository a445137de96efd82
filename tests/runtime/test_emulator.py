"""Rules of the machine that a kernel broke on the emulator, as exceptions with a place."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import errors


@pytest.fixture(autouse=True)
def emulate():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_80"
        yield


@tegula.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)


@tegula.jit
def through_integer(address: "*fp32", out):  # noqa: F722
    tl.store(out, tl.load(address))


@tegula.jit(debug=True)
def check(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_assert(tl.load(x + i) > 0, "must be positive")


def line_of(text: str) -> int:
    with open(__file__) as f:
        return next(i for i, line in enumerate(f, 1) if line.strip() == text)


def test_reads_past_the_end():
    x, out = np.zeros(40, np.float32), np.zeros(64, np.float32)
    with pytest.raises(errors.OutOfBoundsError) as e:
        copy[(1,)](x, out, 64, BLOCK=64)
    assert e.value.kind == "BOUNDS" and e.value.filename == __file__
    assert e.value.lineno == line_of("value = tl.load(x + i, mask=i < n)")
    text = str(e.value)
    assert "tl.load(x + i, mask=i < n)" in text and "copy()" in text
    assert isinstance(e.value, tegula.EmulatorError)


def test_writes_past_the_end_in_another_program():
    x, out = np.zeros(256, np.float32), np.zeros(100, np.float32)
    with pytest.raises(errors.OutOfBoundsError) as e:
        copy[(4,)](x, out, 256, BLOCK=64)
    assert e.value.program_id[0] in (1, 2, 3)
    assert e.value.lineno == line_of("tl.store(out + i, value, mask=i < n)")


def test_within_bounds_of_views():
    base = np.arange(200, dtype=np.float32)
    out = np.zeros(64, np.float32)
    copy[(1,)](base[100:164], out, 64, BLOCK=64)
    np.testing.assert_array_equal(out, base[100:164])
    with pytest.raises(errors.OutOfBoundsError):
        copy[(1,)](base[100:163], out, 64, BLOCK=64)
    copy[(1,)](base[::-1][-1:], out, 1, BLOCK=64)
    assert out[0] == 0


@pytest.mark.torch
def test_bounds_of_torch_tensors():
    torch = pytest.importorskip("torch")
    x, out = torch.ones(64), torch.zeros(64)
    copy[(1,)](x, out, 64, BLOCK=64)
    assert out.sum() == 64
    with pytest.raises(errors.OutOfBoundsError):
        copy[(1,)](torch.ones(63), out, 64, BLOCK=64)
    copy[(1,)](x.reshape(8, 8).T, out, 64, BLOCK=64)


def test_an_address_as_an_integer_switches_the_check_off():
    x, out = np.full(4, 7, np.float32), np.zeros(4, np.float32)
    through_integer[(1,)](x.ctypes.data, out)
    assert out[0] == 7


def test_device_asserts():
    x = np.ones(64, np.float32)
    check[(1,)](x, BLOCK=64)
    x[5] = -1
    with pytest.raises(errors.DeviceAssertError, match="must be positive"):
        check[(1,)](x, BLOCK=64)


@pytest.mark.parametrize("target", ["emu:sm_80", "cpu"])
def test_what_a_failed_assert_says(target):
    """The same on CPUs, which tell the element as well."""
    x = np.ones(64, np.float32)
    x[5] = -1
    tegula.knobs.runtime.target = target
    with pytest.raises(errors.DeviceAssertError) as e:
        check[(1,)](x, BLOCK=64)
    line = 'tl.device_assert(tl.load(x + i) > 0, "must be positive")'
    assert (e.value.lineno, e.value.offset) == (line_of(line), 5)
    assert e.value.filename == __file__ and e.value.program_id == (0, 0, 0)
    of_cpu = ", element  5" if target == "cpu" else ""
    assert e.value.message == "must be positive" + of_cpu
    assert line in str(e.value) and "of check()" in str(e.value)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)


def test_reports_travel_between_processes():
    x, out = np.zeros(40, np.float32), np.zeros(64, np.float32)
    with pytest.raises(errors.OutOfBoundsError) as e:
        copy[(1,)](x, out, 64, BLOCK=64)
    again = pickle.loads(pickle.dumps(e.value))
    assert type(again) is type(e.value) and str(again) == str(e.value)
    assert again.lineno == e.value.lineno and again.program_id == e.value.program_id


def test_the_kernel_runs_again_after_a_fault():
    x, out = np.ones(40, np.float32), np.zeros(64, np.float32)
    with pytest.raises(errors.OutOfBoundsError):
        copy[(1,)](x, out, 64, BLOCK=64)
    copy[(1,)](x, out, 40, BLOCK=64)
    assert out.sum() == 40


def test_seeds_change_the_order_not_the_result():
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    for seed in (1, 2, 3):
        tegula.knobs.runtime.emu_seed = seed
        out[:] = 0
        copy[(8,)](x, out, 1000, BLOCK=128, num_warps=4)
        np.testing.assert_array_equal(out, x)
