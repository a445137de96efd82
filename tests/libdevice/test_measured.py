"""Bounds of bounds.py on samples of all float32; `make accuracy` does all, on a GPU."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("mpmath")
import measure  # finds simulated, too
import simulated
from bounds import CASTS, FLOAT32, HALVES, INF

import tegula.language as tl
from tegula.language.extra import libdevice

# stride over the bit patterns, cases of functions of several operands
TARGETS = {
    "cpu": (16381, 2**17),
    "sm_90a": (2**20 - 3, 4096),
    "interpreter": (2**21 - 9, 500),
}
SIDES: dict[str, measure.Side] = {}


@pytest.fixture(params=TARGETS)
def target(request: Any) -> Any:
    target = request.param
    if target == "sm_90a" and not simulated.available():
        pytest.skip("no build/libptxsim.so")
    return target


def side(target: str) -> measure.Side:
    if target not in SIDES:
        SIDES[target] = measure.Side(target)
    return SIDES[target]


def check(r: measure.Result, target: str) -> None:
    allowed = measure.bounds_of(r, target)
    assert measure.is_fine(r, target), measure.show(r, allowed, False)


@pytest.mark.parametrize("name", [*FLOAT32, *CASTS])
def test_float32(target: str, name: str) -> None:
    row = FLOAT32.get(name) or CASTS[name]
    stride, n = TARGETS[target]
    if row.n == 1:
        check(measure.of_one(side(target), name, row, stride), target)
    else:
        check(measure.of_more(side(target), name, row, n), target)


@pytest.mark.parametrize("kind", measure.HALF)
@pytest.mark.parametrize("name", HALVES)
def test_halves(target: str, name: str, kind: str) -> None:
    stride = TARGETS[target][0]
    check(measure.of_halves(side(target), name, HALVES[name], stride, kind), target)


def test_what_is_wrong_is_seen() -> None:
    """One number off by an ulp, one lost sign among 65,000: the kernels find them."""
    one = "tl.where(x == 0.0003006425977218896, x * 1.0000001192092896, x)"
    bad = {one: True, "tl.abs(x)": True, "x": False}
    s = measure.Side("cpu", more=[(1, what) for what in bad])
    for what, is_bad in bad.items():
        row = measure.Row(1, what, "x", 0.5, low=(0.5, 0.5))
        r = measure.of_one(s, what, row, 65521)
        assert (r.ulp[0] > 0.5) == is_bad, r
        assert (r.wrong > 0) == (what == "tl.abs(x)"), r


@pytest.mark.parametrize("name", [n for n in FLOAT32 if n.startswith("tl.")])
def test_docstrings_say_so(name: str) -> None:
    row = FLOAT32[name]
    module = tl.math if name.startswith("tl.math.") else tl
    doc = getattr(module, name.split(".")[-1]).__doc__
    said = re.search(r"float32 to ([\d.]+) ulp(?:, on GPUs to (\d+))?(.*)", doc)
    if said is None:
        assert "rounded to nearest" in doc or "within 2 ulp" in doc
        return
    assert float(said[1]) == row.host
    assert float(said[2] or said[1]) == (row.host if row.gpu is None else row.gpu)
    assert ("subnormal" in said[3]) == (row.low[1] == INF)


def test_every_function_has_a_bound() -> None:
    for name, fn in vars(libdevice).items():
        if "Accuracy" in (getattr(fn, "__doc__", None) or "") and name not in (
            "rcp64h",
            "jn",
            "yn",
        ):
            assert name in FLOAT32, name
