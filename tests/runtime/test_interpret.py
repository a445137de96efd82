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
