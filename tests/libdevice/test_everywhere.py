"""Every function with every row of types becomes PTX that assembles."""

from __future__ import annotations

from typing import Any

import pytest

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice
from tegula.language.extra.libdevice._exponential import power

SIGNATURE = {
    "f32": "fp32",
    "f64": "fp64",
    **{f"{s}{n}": f"{s}{n}" for s in "iu" for n in (32, 64)},
}
TYPES = {
    n: f.fn.__tegula_types__
    for n, f in vars(libdevice).items()
    if hasattr(getattr(f, "fn", None), "__tegula_types__")
}
TYPES["pow"] = power.fn.__tegula_types__  # type: ignore[attr-defined]


@tegula.jit
def row(F: tl.constexpr, xs):
    i = tl.arange(0, 128)
    n: tl.constexpr = len(xs)
    if n == 1:
        r = F(tl.load(xs[0] + i))
    elif n == 2:
        r = F(tl.load(xs[0] + i), tl.load(xs[1] + i))
    else:
        r = F(tl.load(xs[0] + i), tl.load(xs[1] + i), tl.load(xs[2] + i))
    tl.store(xs[0] + i, r)


@tegula.jit
def of_1(a, F: tl.constexpr):
    row(F, (a,))


@tegula.jit
def of_2(a, b, F: tl.constexpr):
    row(F, (a, b))


@tegula.jit
def of_3(a, b, c, F: tl.constexpr):
    row(F, (a, b, c))


@tegula.jit
def of_4(a, b, c, d, F: tl.constexpr):
    i = tl.arange(0, 128)
    r = F(tl.load(a + i), tl.load(b + i), tl.load(c + i), tl.load(d + i))
    tl.store(a + i, r)


KERNELS: dict[int, Any] = {1: of_1, 2: of_2, 3: of_3, 4: of_4}


@pytest.mark.parametrize("name", sorted(TYPES))
def test_ptx(name: str) -> None:
    fn = getattr(libdevice, name)
    for types in TYPES[name].split(","):
        words = ["*" + SIGNATURE[t] for t in types.split()]
        compiled = KERNELS[len(words)].compile(*words, F=fn, target="cuda:sm_80")
        assert ".visible .entry" in compiled.asm["ptx"]
        assert ".extern .func" not in compiled.asm["ptx"]
