"""Selections by a comparison with zero: the sign of a zero is the second arm's."""

from __future__ import annotations

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")


@tegula.jit
def picked(x_ptr, o_ptr, FORM: tl.constexpr, ZERO: tl.constexpr):
    i = tl.arange(0, 32)
    x = tl.load(x_ptr + i)
    z = tl.full((32,), ZERO, x.dtype)
    if FORM == "less":
        r = tl.where(x < ZERO, x, z)
    elif FORM == "greater":
        r = tl.where(x > ZERO, x, z)
    elif FORM == "zero, less":
        r = tl.where(~(x >= ZERO), z, x)
    elif FORM == "zero, greater":
        r = tl.where(~(x <= ZERO), z, x)
    elif FORM == "left":
        r = tl.where(ZERO > x, x, z)
    else:
        a = i.to(x.dtype)
        r = tl.where(a > ZERO, a, z)
    tl.store(o_ptr + i, r)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize(
    "form", ["less", "greater", "zero, less", "zero, greater", "left", "counted"]
)
def test_sign_of_a_picked_zero(form, zero, dtype):
    x = np.array([0.0, -0.0, 2.0, -3.0, np.nan, 1e-7, -1e-7, -np.inf] * 4, dtype)
    there = simulated.put(x, "sm_80"), simulated.put(np.zeros(32, dtype), "sm_80")
    picked[(1,)](*there, form, zero, num_warps=1)
    z, i = dtype(zero), np.arange(32).astype(dtype)
    want = {
        "less": np.where(x < 0, x, z),
        "greater": np.where(x > 0, x, z),
        "zero, less": np.where(~(x >= 0), z, x),
        "zero, greater": np.where(~(x <= 0), z, x),
        "left": np.where(x < 0, x, z),
        "counted": np.where(i > 0, i, z),
    }[form]
    got, bits = there[1].numpy(), f"u{x.itemsize}"
    np.testing.assert_array_equal(got.view(bits), want.view(bits))


def test_the_other_zero_is_a_maximum():
    c = picked.compile("*fp32", "*fp32", "greater", 0.0, target="cuda:sm_80")
    assert "max.f32" in c.asm["ptx"]
