"""NumPy in, NumPy out; what does not fit is said before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tegula
from tegula import ops


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((5, 33), dtype=np.float32)


def test_numpy(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ops.softmax(x), p, atol=1e-6)
    np.testing.assert_allclose(ops.matmul(x, x.T), x @ x.T, atol=1e-5)
    centred = x - x.mean(axis=1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(ops.layer_norm(x), norm, atol=1e-5)
    rms = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(ops.rms_norm(x), rms, atol=1e-5)
    target = np.array([0, 32, -100, 5, 7])
    keep = [0, 1, 3, 4]
    loss = -np.log(p[keep, target[keep]]).mean()
    np.testing.assert_allclose(ops.cross_entropy(x, target), loss, rtol=1e-5)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda x: ops.softmax([1.0]), TypeError, "x is a list"),
        (lambda x: ops.softmax(x.astype(int)), TypeError, "x is int64; expected float"),
        (lambda x: ops.softmax(x[:, :0]), ValueError, r"shape \[5, 0\]"),
        (lambda x: ops.softmax(x[:1, :1].reshape(())), ValueError, r"shape \[\]"),
        (lambda x: ops.layer_norm(x, x[0, :32]), ValueError, r"wants? \[33\]"),
        (
            lambda x: ops.rms_norm(x, x[0].astype(np.float64)),
            TypeError,
            "weight is float64 and x is float32",
        ),
        (lambda x: ops.matmul(x, x), ValueError, r"\[5, 33\] by \[5, 33\]"),
        (lambda x: ops.matmul(x, x.T, "fp4"), ValueError, "not 'fp4'"),
        (
            lambda x: ops.cross_entropy(x, np.zeros(5)),
            TypeError,
            "target is float64; expected int32, int64",
        ),
        (
            lambda x: ops.cross_entropy(x, np.zeros(4, int)),
            ValueError,
            r"expected \[N, C\] and \[N\]",
        ),
        (
            lambda x: ops.cross_entropy(x, np.zeros(5, int), reduction="max"),
            ValueError,
            "not 'max'",
        ),
    ],
)
def test_refused(x, call, kind, message):
    with pytest.raises(kind, match=message):
        call(x)


def test_two_libraries(x):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="different libraries"):
        ops.matmul(torch.from_numpy(x), x.T)


def test_torch_is_the_callers():
    """Neither tegula nor its ops import torch, nor does a call with arrays."""
    code = (
        "import sys, numpy as np; from tegula import ops;"
        "ops.softmax(np.ones((2, 3), 'float32')); print('torch' in sys.modules)"
    )
    root = os.path.dirname(os.path.dirname(tegula.__file__))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
