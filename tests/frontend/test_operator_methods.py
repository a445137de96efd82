"""Operators under the names of their methods, and functions where Triton 2 had them."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def binary(x_ptr, y_ptr, z_ptr, NAME: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    if NAME == "lshift":
        z = x.__lshift__(y) + x.__rlshift__(y) * 1000
    elif NAME == "rshift":
        z = x.__rshift__(y) + x.__rrshift__(y) * 1000
    elif NAME == "sub":
        z = x.__sub__(y) + x.__rsub__(3) * 1000
    elif NAME == "arithmetic":
        z = x.__add__(1).__mul__(y).__floordiv__(3).__mod__(5).__neg__()
    elif NAME == "bits":
        z = x.__and__(6).__or__(8).__xor__(y).__invert__()
    elif NAME == "order":
        below = x.__lt__(y).__or__(x.__eq__(y)).__and__(x.__le__(y))
        z = tl.where(
            below.__and__(x.__ne__(4)), x, x.__gt__(y).to(tl.int32) + 2 * x.__ge__(7)
        )
    else:
        z = (x.to(tl.float32).__truediv__(y) + 3.0).to(tl.int32)
    tl.store(z_ptr + at, z)


WANT = {
    "lshift": lambda x, y: (x << y) + (y << x) * 1000,
    "rshift": lambda x, y: (x >> y) + (y >> x) * 1000,
    "sub": lambda x, y: x - y + (3 - x) * 1000,
    "arithmetic": lambda x, y: -((x + 1) * y // 3 % 5),
    "bits": lambda x, y: ~((x & 6 | 8) ^ y),
    "order": lambda x, y: np.where((x <= y) & (x != 4), x, (x > y) + 2 * (x >= 7)),
    "quotient": lambda x, y: (x / y + 3).astype(np.int32),
}


@pytest.mark.parametrize("name", WANT)
def test_methods(run, name):
    x = np.arange(16, dtype=np.int32) % 10
    y = (x * 7 + 3) % 9 + 1
    z = np.zeros(16, np.int32)
    run(binary, x, y.astype(np.int32), z, NAME=name, BLOCK=16)
    assert np.array_equal(z, WANT[name](x, y))


@tegula.jit
def packed(b_ptr, low_ptr, high_ptr, BLOCK: tl.constexpr):
    """Two numbers of four bits in a byte, as a library takes them apart."""
    at = tl.arange(0, BLOCK)
    b = tl.load(b_ptr + at)
    tl.store(low_ptr + at, b.__lshift__(4).to(tl.int8).__rshift__(4))
    tl.store(high_ptr + at, b.__rshift__(4))


def test_halves_of_bytes(run):
    b = np.arange(-128, 128, dtype=np.int8)
    low, high = np.zeros((2, 256), np.int8)
    run(packed, b, low, high, BLOCK=256)
    assert np.array_equal(low, (b << 4).astype(np.int8) >> 4)
    assert np.array_equal(high, b >> 4)


@tegula.jit
def as_in_triton_2(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.libdevice.tanh(x) + tl.math.round(x) + tl.math.pow(x, 2.0)
    tl.store(y_ptr + at, y + tl.math.max(x, 0.5) + tl.math.min(x, -0.5))


def test_names_of_triton_2(run):
    x = np.linspace(-3, 3, 32, dtype=np.float32)
    y = np.zeros(32, np.float32)
    run(as_in_triton_2, x, y, BLOCK=32)
    rounded = np.trunc(x + np.copysign(0.5, x))
    want = np.tanh(x) + rounded + x * x + np.maximum(x, 0.5) + np.minimum(x, -0.5)
    np.testing.assert_allclose(y, want, rtol=1e-5)
    with pytest.raises(AttributeError, match="no attribute 'rounds'"):
        tl.math.rounds  # noqa: B018


@tegula.jit
def doubled(x):
    return 2 * x


@tegula.jit
def caller(x_ptr):
    tl.store(x_ptr, doubled(tl.load(x_ptr)))


def test_dependencies_finder():
    from tegula.jit import DependenciesFinder

    def found(names):
        finder = DependenciesFinder(caller.__name__, names, {}, caller.src)
        finder.visit(caller.parse())
        return finder.ret

    names = {"doubled": doubled, "tl": tl}
    assert found(names) == found(dict(names, unrelated=3)) != found({})
    assert len(found(names)) == 64 and found(dict(names, doubled=caller)) != found(
        names
    )
