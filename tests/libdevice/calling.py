"""Functions of tl.extra.libdevice on arrays, on a target."""

from __future__ import annotations

from typing import Any

import numpy as np

import tegula
import tegula.language as tl

BLOCK = 256


@tegula.jit
def one(out, x, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, F(tl.load(x + i, i < n)), i < n)


@tegula.jit
def two(out, x, y, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, F(tl.load(x + i, m), tl.load(y + i, m)), m)


@tegula.jit
def three(out, x, y, z, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, F(tl.load(x + i, m), tl.load(y + i, m), tl.load(z + i, m)), m)


@tegula.jit
def four(out, x, y, z, w, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = F(tl.load(x + i, m), tl.load(y + i, m), tl.load(z + i, m), tl.load(w + i, m))
    tl.store(out + i, a, m)


KERNELS = [one, two, three, four]


def on(target: str, fn: Any, *args: np.ndarray, out: Any = None) -> np.ndarray:
    """fn of arrays of one length, in the type `out`: that of the first unless given."""
    n = len(args[0])
    result = np.zeros(n, out or args[0].dtype)
    arrays = [np.ascontiguousarray(a) for a in args]
    with tegula.knobs.runtime.scope():
        if target == "interpreter":
            tegula.knobs.runtime.interpret = True
        else:
            tegula.knobs.runtime.target = target
        kernel = KERNELS[len(args) - 1]
        kernel[(-(-n // BLOCK),)](result, *arrays, n, F=fn, B=BLOCK)
    return result


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Element by element: equal bits, or both NaN."""
    if a.dtype.kind != "f":
        return a == b
    u = f"u{a.itemsize}"
    return (a.view(u) == b.view(u)) | (np.isnan(a) & np.isnan(b))
