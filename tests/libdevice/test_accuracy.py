"""Accuracy against mpmath: the bounds that the docstrings state."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mpmath")
from accuracy import CASES, Case, distance, guarded, samples
from conftest import on, same
from mpmath import mpf
from test_rounding import edges

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice
from tegula.language.extra.libdevice._exponential import exp_sum

FLOATS = [np.float32, np.float64]


def check(got: Any, case: Case, args: list[np.ndarray], allowed: float) -> None:
    fn, dtype = guarded(case.fn), args[0].dtype.type
    worst: tuple[Any, ...] = (-1.0,)
    for g, row in zip(got, zip(*[a.tolist() for a in args], strict=True), strict=True):
        want = fn(*[mpf(v) if isinstance(v, float) else v for v in row])
        d = distance(g, want, dtype)
        if d > worst[0]:
            worst = (d, row, g, want)
    assert worst[0] <= allowed, worst


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CASES)
def test_ulps(name: str, dtype: Any) -> None:
    case = CASES[name]
    args = samples(case, dtype, 400)
    fn = getattr(libdevice, "pow" if name == "powi" else name)
    got = on("cpu", fn, *args)
    check(got, case, args, case.ulp32 if dtype == np.float32 else case.ulp64)


@pytest.mark.parametrize("name", CASES)
def test_docstrings_say_so(name: str) -> None:
    case = CASES[name]
    doc = getattr(libdevice, "pow" if name == "powi" else name).__doc__
    said = re.search(
        r"Accuracy: (\d+) ulp(?: for float32.*?(\d+) ulp for float64)?", doc, re.S
    )
    if said is None:
        assert case.ulp32 == case.ulp64 == 0.5 and "nearest" in doc
        return
    assert float(said[1]) == case.ulp32
    assert float(said[2] or said[1]) == case.ulp64


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CASES)
def test_other_targets(name: str, dtype: Any) -> None:
    """The emulator rounds some sums of products once, the interpreter knows libm's core."""
    case = CASES[name]
    args = [a[::11] for a in samples(case, dtype, 400)]
    fn = getattr(libdevice, "pow" if name == "powi" else name)
    for target in ("emu:sm_90a", "interpreter"):
        got = on(target, fn, *args)
        check(got, case, args, case.ulp32 if dtype == np.float32 else case.ulp64)


NUMPY = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "atan": np.arctan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "tan": np.tan,
    "sin": np.sin,
    "cos": np.cos,
    "hypot": np.hypot,
    "atan2": np.arctan2,
    "pow": np.power,
    "rhypot": lambda x, y: 1 / np.hypot(x.astype("g"), y.astype("g")),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NUMPY)
def test_edges(name: str, dtype: Any) -> None:
    """NaN, infinities, signed zeros and what underflows are where C has them."""
    e = np.concatenate(
        [edges(dtype), np.array([-2, 0.5, -3, 2.0**24 + 1, -9.5], dtype)]
    )
    two = name in ("hypot", "atan2", "pow", "rhypot")
    args = [g.ravel() for g in np.meshgrid(e, e)] if two else [e]
    got = on("cpu", getattr(libdevice, name), *args)
    with np.errstate(all="ignore"):
        want = NUMPY[name](*args).astype(dtype)
    rough = 20 * np.finfo(dtype).eps
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= np.maximum(
            np.abs(want) * rough, np.finfo(dtype).smallest_subnormal
        )
    good = same(got, want) | (near & (np.signbit(got) == np.signbit(want)))
    bad = np.flatnonzero(~good)
    assert not len(bad), [(*(a[i] for a in args), got[i], want[i]) for i in bad[:5]]


@tegula.jit
def own_exp(x):
    return exp_sum(x, 0.0, 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exp_of_gpus(dtype: Any) -> None:
    """What exp is where the core's is an approximation."""
    args = samples(CASES["exp"], dtype, 400)
    check(on("cpu", own_exp, *args), CASES["exp"], args, 1)


@tegula.jit
def with_numbers(out, x):
    v = tl.load(x)
    tl.store(out, libdevice.pow(v, 2))
    tl.store(out + 1, libdevice.pow(v, 0.1))
    tl.store(out + 2, libdevice.pow(2.0, v))
    tl.store(out + 3, libdevice.hypot(v, 4.0))


def test_literals() -> None:
    out = np.zeros(4)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        with_numbers[(1,)](out, np.array([3.0]))
    np.testing.assert_allclose(out, [9.0, 3.0**0.1, 8.0, 5.0], rtol=1e-15)
