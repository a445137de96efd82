"""Which of two zeros, on every machine: for min and max -0.0 is below 0.0, and a NaN of
either kind loses. What compares takes them as equal, so the first one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import FLOATS, FORMATS, encode
from suite import Arg, Machine, decode, index, result, same_bits
from test_reduce import best_type

import tegula
import tegula.language as tl

SHAPES = [((1,), 0), ((7,), 0), ((256,), 0), ((4, 64), 1), ((64, 4), 0), ((3, 5, 8), 1)]


def zeros(rng: np.random.Generator, dtype: str, shape: tuple, other: float) -> Any:
    """Zeros of either sign; among them `other`, NaNs and NaNs that signal."""
    x = encode(rng.choice([0.0, -0.0, -0.0, -0.0, other, np.nan], shape), dtype)
    bits = x if dtype in FORMATS else x.view(f"u{x.itemsize}")
    signals = encode(np.array([np.inf, -np.inf]), dtype)
    signals = signals.view(bits.dtype) + bits.dtype.type(1)
    bits[:] = np.where(rng.random(shape) < 0.1, rng.choice(signals, shape), bits)
    return x


def extreme(x: np.ndarray, is_max: bool, axis: int) -> np.ndarray:
    """Of float64s, in the order of min and max."""
    if not is_max:
        return -extreme(-x, True, axis)
    x = np.where(np.isnan(x), np.nan, x)  # NumPy's fmax returns one that signals
    best = np.fmax.reduce(x, axis=axis)
    is_positive = ((x == 0) & ~np.signbit(x)).any(axis=axis)
    return np.where(best == 0, np.where(is_positive, 0.0, -0.0), best)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape,axis", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_reduction(
    machine: Machine, rng: Any, name: str, shape: tuple, axis: int, dtype: str
) -> None:
    x = zeros(rng, dtype, shape, -1.0 if name == "max" else 1.0)
    want = np.asarray(extreme(decode(x, dtype), name == "max", axis))
    out = best_type(dtype)
    where = index(want.shape) if want.ndim else "0"
    body = f"tl.store(x1 + {where}, tl.{name}(tl.load(x0 + {index(shape)}), {axis}))"
    got = machine.run(body, Arg(x, dtype), result(out, want.shape or 1))[1]
    same_bits(got.reshape(want.shape), encode(want, out), out)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("with_nan", [False, True])
def test_pairs(
    machine: Machine, rng: Any, name: str, dtype: str, with_nan: bool
) -> None:
    """Of blocks, of a block and each zero, and carried by a loop."""
    is_max, n = name == "maximum", 64
    x, y = (zeros(rng, dtype, (n,), -1.0 if is_max else 1.0) for _ in range(2))
    nan = ", propagate_nan=tl.PropagateNan.ALL" if with_nan else ""
    out = "float32" if dtype == "bfloat16" else dtype
    body = f"""
i = tl.arange(0, {n})
x, y = tl.load(x0 + i), tl.load(x1 + i)
tl.store(x2 + i, tl.{name}(x, y{nan}))
tl.store(x3 + i, tl.{name}(x, 0.0{nan}))
tl.store(x4 + i, tl.{name}(-0.0, x{nan}))
m = tl.load(x0).to(tl.{out})
for k in range({n}):
    m = tl.{name}(m, tl.load(x0 + k){nan})
tl.store(x5, m)
"""
    results = (*(result(out, n) for _ in range(3)), result(out, 1))
    got = machine.run(body, Arg(x, dtype), Arg(y, dtype), *results)
    a, b = decode(x, dtype), decode(y, dtype)
    pairs = (a, b), (a, np.zeros(n)), (np.full(n, -0.0), a)
    for g, (p, q) in zip(got[2:5], pairs, strict=True):
        want = extreme(np.array([p, q]), is_max, 0)
        if with_nan:
            want = np.where(np.isnan(p) | np.isnan(q), np.nan, want)
        same_bits(g, encode(want, out), out)
    want = np.array([np.nan if with_nan else extreme(a, is_max, 0)])
    same_bits(got[5], encode(want, out), out)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "text",
    [
        "tl.sort(x, descending=True)",
        "tl.topk(x, 4)",
        "tl.cumsum(x)",
        "tl.associative_scan(x, 0, _larger)",
        "tl.clamp(x.to(tl.float32), y.to(tl.float32), 0.0)",
        "tl.max(x, 0, return_indices=True)[0]",
        "tl.max(x, 0, return_indices=True)[1]",
        "tl.argmin(x, 0)",
        "tl.argmax(x, 0, tie_break_left=True)",
    ],
)
def test_as_the_interpreter(machine: Machine, rng: Any, dtype: str, text: str) -> None:
    """Zeros of either sign alone: how often each, and where."""
    x, y = (encode(rng.choice([0.0, -0.0], 64), dtype) for _ in range(2))
    body = f"""
i = tl.arange(0, 64)
x, y = tl.load(x0 + i), tl.load(x1 + i)
r = ({text}).to(tl.float64)
tl.store(x2 + {"tl.arange(0, 4)" if "topk" in text else "i"}, r)
"""
    args = Arg(x, dtype), Arg(y, dtype), result("float64", 64)
    got = machine.run(body, *args, helpers=(_larger,))[2]
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.interpret, tegula.knobs.runtime.target = True, "cpu"
        want = Machine("interpreter").run(body, *args, helpers=(_larger,))[2]
    same_bits(got, want, "float64")


@tegula.jit
def _larger(a, b):
    return tl.maximum(a, b).to(a.dtype)
