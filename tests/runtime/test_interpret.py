"""TEGULA_INTERPRET: kernels in the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl


@pytest.fixture(autouse=True)
def interpret():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret = True
        yield


@tegula.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


def test_softmax():
    x = np.random.default_rng(0).standard_normal((5, 37)).astype(np.float32)
    out = np.zeros_like(x)
    compiled = softmax[(5,)](x, out, 37, BLOCK=64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-6)
    assert set(compiled.asm) == {"tir", "interp"}
    tegula.knobs.runtime.interpret = False
    assert softmax[(5,)](x, out, 37, BLOCK=64) is not compiled


def test_accesses_are_checked():
    x, out = np.zeros(10, np.float32), np.zeros(100, np.float32)
    with pytest.raises(tegula.errors.InterpreterError) as e:
        softmax[(1,)](x, out, 11, BLOCK=16)
    assert "tl.load(x + row * n + i" in str(e.value) and __file__ in str(e.value)


def test_compile_errors_are_the_same():
    with pytest.raises(tegula.CompileError, match="greater than the start"):
        softmax[(1,)](np.zeros(4, np.float32), np.zeros(4, np.float32), 4, BLOCK=0)


@tegula.jit(interpret=True)
def over(x, y, BLOCK: tl.constexpr):
    p = x
    for _ in range(2):
        tl.store(y + tl.arange(0, BLOCK), tl.load(p + tl.arange(0, BLOCK)))
        p += BLOCK


def test_errors_name_argument_and_place():
    """They are those of the other targets, too."""
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
    over[(1,)](x, y, BLOCK=4)
    with pytest.raises(tegula.InterpreterError) as e:
        over[(1,)](x[:6], y, BLOCK=4)
    assert isinstance(e.value, tegula.errors.OutOfBoundsError)
    assert e.value.message == (
        "load of element 6 of 'x' (float32, 6 elements), in program (0, 0, 0)"
    )
    assert e.value.filename == __file__ and e.value.program_id == (0, 0, 0)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="'y' is read-only"):
        over[(1,)](x, y, BLOCK=4)


@tegula.jit(interpret=True, debug=True)
def claims(x):
    v = tl.load(x + tl.program_id(0))
    tl.device_assert(v < 1, "too big")


def test_a_false_assert_is_a_device_assert_error():
    with pytest.raises(tegula.errors.DeviceAssertError, match=r"too big.*\(1, 0, 0\)"):
        claims[(2,)](np.arange(2))


@tegula.jit
def through(pointers, out, N: tl.constexpr):
    p = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, N)
    tl.store(out + tl.program_id(0) * N + i, tl.load(p + i))


def test_pointers_that_were_loaded():
    """What they lead to is no tensor of the launch."""
    a, b = np.arange(4, dtype=np.float32), np.arange(10, 14, dtype=np.float32)
    pointers = np.array([a.ctypes.data, b.ctypes.data])
    out = np.zeros((2, 4), np.float32)
    through[(2,)](pointers, out, N=4)
    assert (out == [a, b]).all()
    with pytest.raises(tegula.errors.OutOfBoundsError, match="in no tensor"):
        through[(1,)](np.zeros(2, np.int64), out, N=4)
    with pytest.raises(tegula.errors.OutOfBoundsError, match="element -16 of 'out'"):
        backwards[(1,)](out)


@tegula.jit
def backwards(out):
    tl.store(out - 16, 1.0)


def test_sums_of_many():
    """As good as on targets, whose order is no worse than by pairs."""
    x = np.random.default_rng(0).random(1 << 16, dtype=np.float32)
    out = np.zeros(1, np.float32)
    total[(1,)](x, out, N=1 << 16)
    assert abs(out[0] - x.sum(dtype=np.float64)) < 0.01


@tegula.jit
def total(x, out, N: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, N)), 0))


def test_a_variant_by_hand():
    """compiled[grid] and what libraries call before it."""
    x, out = np.ones(4, np.float32), np.zeros(1, np.float32)
    compiled = total[(1,)](x, out, N=4)
    compiled._init_handles()
    out[:] = 0
    compiled[(1,)](x, out, 4)
    assert out[0] == 4
