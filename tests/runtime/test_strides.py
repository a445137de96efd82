"""Tensors whose memory is not what a kernel takes it for: strides nobody passed, signs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tegula
import tegula.language as tl


@pytest.fixture(autouse=True, params=["first", "bounds", "interpreter", "emulator"])
def how(request):
    """Where launches are looked at."""
    with tegula.knobs.cache.scope(), tegula.knobs.runtime.scope():
        tegula.knobs.cache.dir = ""
        tegula.knobs.runtime.check_bounds = True if request.param == "bounds" else None
        tegula.knobs.runtime.interpret = request.param == "interpreter"
        if request.param == "emulator":
            tegula.knobs.runtime.target = "emu:sm_80"
        yield request.param


def make():
    @tegula.jit
    def copy(x, y, n, s, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i * s, i < n, other=0), i < n)

    return copy


def texts(kernel, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        kernel[(1,)](*args)
    return [str(w.message) for w in seen]


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_strides_that_nobody_passed():
    copy, y = make(), np.zeros(12, np.float32)
    (text,) = texts(copy, X.T, y, 12, 0, 16)
    assert text == (
        "argument 'x' is not contiguous (shape (4, 3), strides (1, 4)) and copy() is "
        "given none of its strides: numpy.ascontiguousarray(x), or pass "
        "x.strides[..] // x.itemsize"
    )
    assert not texts(copy, X.T, y, 12, 0, 16)  # once
    (text,) = texts(make(), X.reshape(-1)[::3], y, 4, 0, 16)
    assert "'x' is not contiguous (shape (4,), strides (3,))" in text
    (text,) = texts(make(), X, np.zeros(24, np.float32)[::-1][::2], 0, 0, 16)
    assert "'y'" in text and "strides (-2,)" in text


def test_strides_that_are_known():
    y = np.zeros(16, np.float32)
    assert not texts(make(), X.T, y, 3, 4, 16)
    assert not texts(make(), X[0, ::2], y, 2, 2, 16)
    assert not texts(make(), X[0, ::8], y, 1, 0, 8)  # one element
    assert not texts(make(), X[:, :0].T, y, 0, 0, 16)
    assert not texts(make(), X[:1].T, y, 4, 0, 16)  # contiguous
    assert not texts(make(), X, y, 12, 0, 16)
    assert not texts(make(), np.broadcast_to(X[0], (3, 4)), y, 2, 2, 16)

    @tegula.jit
    def inside(x, y):
        i = tl.arange(0, 2)
        tl.store(y + i, tl.load(x + i * 4))

    assert not texts(inside, X.T, y)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    x, y = torch.arange(12.0).reshape(3, 4), torch.zeros(12)
    (text,) = texts(make(), x.t(), y, 12, 0, 16)
    assert text == (
        "argument 'x' is not contiguous (shape (4, 3), strides (1, 4)) and copy() is "
        "given none of its strides: x.contiguous(), or pass x.stride(..)"
    )
    with warnings.catch_warnings(), pytest.raises(UserWarning):
        warnings.simplefilter("error")
        make()[(1,)](x.t(), y, 12, 0, 16)


def test_views_that_negate():
    torch = pytest.importorskip("torch")
    y, z = torch.zeros(16), torch.ones(4, 4, dtype=torch.complex64)
    imag = z.conj().imag
    for x in (imag, imag.as_strided((4,), (1,)), torch._neg_view(torch.ones(4))):
        with pytest.raises(TypeError, match=r"'x' .* pass x.resolve_neg\(\)"):
            make()[(1,)](x, y, 4, 1, 16)
    assert not y.any()
