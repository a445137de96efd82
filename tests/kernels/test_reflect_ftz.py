"""enable_reflect_ftz: exp, exp2 and rsqrt of float32 where numbers are subnormal.

GPUs flush them unless the option is off; CPUs, and what plays a GPU without PTX, never do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

X = np.array([-127, -130.5, -148, -125, -1, 0, 3, 100], np.float32)
SMALL = np.array([2.0**-127, 2.0**-140, 1e-40, 2.0**-125, 4, 1, 9, 1e30], np.float32)
TINY = np.float32(2.0**-126)


@tegula.jit
def kernel(x, small, out):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    tl.store(out + i, tl.exp2(v))
    tl.store(out + 8 + i, tl.exp(v * 0.6931471805599453))
    tl.store(out + 16 + i, tl.rsqrt(tl.load(small + i)))


@pytest.mark.parametrize("flushes", [True, False])
def test_subnormals(anywhere: Any, flushes: bool) -> None:
    out = anywhere.poison(24, np.float32)
    kernel[(1,)](anywhere.put(X), anywhere.put(SMALL), out, enable_reflect_ftz=flushes)
    got = anywhere.get(out).reshape(3, 8)
    two = np.exp2(X.astype(np.float64))
    want = np.stack([two, two, SMALL.astype(np.float64) ** -0.5])
    if flushes and anywhere.is_ptx:
        want[:2, :3] = 0
        want[2, :3] = np.inf
    # exp takes the rounded product of its operand with log2(e).
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=TINY * 2e-5)


def test_instructions() -> None:
    types = ("*fp32", "*fp32", "*fp32")
    on = kernel.compile(*types, target="cuda:sm_80").asm["ptx"]
    off = kernel.compile(*types, target="cuda:sm_80", enable_reflect_ftz=False).asm[
        "ptx"
    ]
    for name in ("ex2.approx", "rsqrt.approx"):
        assert f"{name}.ftz.f32" in on and f"{name}.f32" not in on
        assert f"{name}.f32" in off and f"{name}.ftz.f32" not in off
