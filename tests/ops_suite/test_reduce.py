"""Reductions, scans, sorting, histograms and gathers: every axis, awkward shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from element_types import FLOATS, INTS, encode, is_float
from suite import Arg, Machine, close, decode, index, numbers, result, same_bits

import tegula
import tegula.language as tl

# (shape, axis); None is all of them.
AXES = [
    ((1,), 0), ((64,), 0), ((1024,), None), ((2, 64), 0), ((2, 64), 1), ((64, 2), 0),
    ((16, 32), -1), ((16, 32), None), ((1, 128), 1), ((128, 1), 1), ((8, 4, 16), 0),
    ((8, 4, 16), 1), ((8, 4, 16), 2), ((4, 1, 8), 1), ((2, 2, 2, 2, 4), 2),
    ((3,), 0), ((100,), 0), ((1000,), None), ((48, 80), 0), ((48, 80), 1), ((24, 5), None),
    ((1, 7), 1), ((7, 1), 0), ((3, 5, 7), 0), ((3, 5, 7), 1), ((3, 5, 7), 2), ((2, 96), -1),
]  # fmt: skip
NARROW = ("int8", "int16", "uint8", "uint16", "int1")


def sum_type(t: str) -> str:
    if t == "int1" or t[0] == "u":
        return "uint64" if t == "uint64" else "uint32"
    return "int32" if t in NARROW else t


def best_type(t: str) -> str:
    return "int32" if t in NARROW else "float32" if t in ("float16", "bfloat16") else t


def whole(rng: Any, dtype: str, shape: Any) -> np.ndarray:
    """Whole numbers whose sums have one value in every type and order."""
    if dtype == "int1":
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if dtype[0] == "u" else -1
    return encode(rng.integers(low, 2, shape), dtype)


@tegula.jit
def add(a, b):
    return a + b


@tegula.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@tegula.jit
def xor(a, b):
    return a ^ b


@tegula.jit
def affine(a, b, c, d):
    """x -> a x + b, then x -> c x + d: associative, and order matters."""
    return a * c, b * c + d


@tegula.jit
def mean_m2(n, mean, m2, k, other, o2):
    """Welford's: counts, means and squares of two groups as those of one."""
    total = n + k
    delta = other - mean
    return (
        total,
        mean + delta * (k / total),
        m2 + o2 + delta * delta * (n * k / total),
    )


@tegula.jit
def first_best(v, i, w, j):
    """Value and index of the largest; of equal ones the first."""
    left = (v > w) | ((v == w) & (i < j))
    return tl.where(left, v, w), tl.where(left, i, j)


# name -> (text, NumPy's, the type of the result, types)
REDUCTIONS = {
    "sum": ("tl.sum(x, {axis})", np.sum, sum_type, ("int1", *INTS, *FLOATS)),
    "max": ("tl.max(x, {axis})", np.max, best_type, (*INTS, *FLOATS)),
    "min": ("tl.min(x, axis={axis})", np.min, best_type, (*INTS, *FLOATS)),
    "xor_sum": ("tl.xor_sum(x, {axis})", np.bitwise_xor.reduce, lambda t: t, INTS),
    "reduce_or": ("tl.reduce_or(x, {axis})", np.bitwise_or.reduce, lambda t: t, INTS),
    "reduce": ("tl.reduce(x, {axis}, larger)", np.max, lambda t: t, (*INTS, *FLOATS)),
}  # fmt: skip
CASES = [
    (name, t, shape, axis)
    for name, (_, _, _, types) in REDUCTIONS.items()
    for n, t in enumerate(types)
    for shape, axis in AXES[(n * 7 + len(name)) % 3 :: 3]
]


def label(value: Any) -> str | None:
    return "x".join(map(str, value)) if isinstance(value, tuple) else None


@pytest.mark.parametrize("name,dtype,shape,axis", CASES, ids=label)
def test_reduce(
    machine: Machine, rng: Any, name: str, dtype: str, shape: tuple, axis: int | None
) -> None:
    text, reference, out_of, _ = REDUCTIONS[name]
    if name == "reduce_or" and axis is None:
        axis = 0
    out = out_of(dtype)
    x = (whole if name == "sum" else numbers)(rng, dtype, shape)
    if is_float(dtype):
        x[np.isnan(decode(x, dtype))] = encode(1.0, dtype)
    v = decode(x, dtype)
    if name == "sum" and not is_float(dtype):
        v = v.astype(out)
    axes = tuple(range(len(shape))) if axis is None else axis
    if name in ("xor_sum", "reduce_or") and axis is None:
        want = reference(v.ravel())
    else:
        want = reference(v, axis=axes)
    want = encode(want, out)
    # The result as it comes, and with its dimensions kept, which broadcasts.
    body = f"""
x = tl.load(x0 + {index(shape)})
r = {text.format(axis=axis)}
tl.static_assert(r.dtype == tl.{out})
tl.store(x1 + {index(want.shape) if want.ndim else "0"}, r)
k = {text.format(axis=axis)[:-1]}, keep_dims=True)
tl.store(x2 + {index(shape)}, k + tl.zeros({shape}, tl.{out}))
"""
    warps = (1, 4, 8)[sum(map(ord, name + dtype)) % 3]
    args = Arg(x, dtype), result(out, want.shape or 1), result(out, shape)
    options = {"num_warps": warps}
    got = machine.run(body, *args, helpers=(larger,), options=options)
    # Zeros of either sign are equally large.
    np.testing.assert_array_equal(
        decode(got[1].reshape(want.shape), out), decode(want, out)
    )
    kept = np.broadcast_to(np.expand_dims(decode(want, out), axes), shape)
    np.testing.assert_array_equal(decode(got[2], out), kept)


ARG = [
    (name, t, *AXES[(3 * n + len(name) + k) % len(AXES)])
    for name in ("argmax", "argmin", "max", "min")
    for n, t in enumerate((*INTS, *FLOATS))
    for k in (0, 5)
]


@pytest.mark.parametrize("name,dtype,shape,axis", ARG, ids=label)
def test_index(
    machine: Machine, rng: Any, name: str, dtype: str, shape: tuple, axis: int | None
) -> None:
    """The first of equal ones."""
    axis = 0 if axis is None else axis
    x = encode(rng.integers(0, 5, shape), dtype)
    v = decode(x, dtype)
    at = (np.argmax if "max" in name else np.argmin)(v, axis=axis)
    best = (np.max if "max" in name else np.min)(v, axis=axis)
    wide = "float32" if dtype == "bfloat16" else dtype
    where = index(at.shape) if at.ndim else "0"
    if name.startswith("arg"):
        body = f"tl.store(x1 + {where}, tl.{name}(x, {axis}))"
    else:
        body = f"""
v, i = tl.{name}(x, {axis}, return_indices=True)
tl.store(x1 + {where}, i)
tl.static_assert(v.dtype == tl.{wide})
tl.store(x2 + {where}, v)"""
    args = Arg(x, dtype), result("int32", at.shape or 1), result(wide, at.shape or 1)
    got = machine.run(f"x = tl.load(x0 + {index(shape)})\n{body}", *args)
    np.testing.assert_array_equal(got[1].reshape(at.shape), at)
    if not name.startswith("arg"):
        same_bits(got[2].reshape(at.shape), encode(best, wide), wide)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
def test_nan(machine: Machine, dtype: str) -> None:
    """max and min pass by NaN; of nothing but NaN they are NaN."""
    x = np.full((2, 64), np.nan, dtype)
    x[0, [3, 50]] = -2, 7
    body = """
x = tl.load(x0 + tl.reshape(tl.arange(0, 128), (2, 64)))
tl.store(x1 + tl.arange(0, 2), tl.max(x, 1))
tl.store(x2 + tl.arange(0, 2), tl.min(x, 1))
"""
    out = best_type(dtype)
    got = machine.run(body, Arg(x, dtype), result(out, 2), result(out, 2))
    np.testing.assert_array_equal(got[1], [7, np.nan])
    np.testing.assert_array_equal(got[2], [-2, np.nan])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape,axis", AXES[1::3], ids=label)
def test_sum_of_any(
    machine: Machine, rng: Any, dtype: str, shape: tuple, axis: int | None
) -> None:
    """Rounded sums: within what a tree of roundings may do."""
    x = encode(rng.uniform(0, 1, shape), dtype)
    want = decode(x, dtype).sum(axis=axis)
    where = index(want.shape) if want.ndim else "0"
    body = f"tl.store(x1 + {where}, tl.sum(tl.load(x0 + {index(shape)}), {axis}))"
    got = machine.run(body, Arg(x, dtype), result(dtype, want.shape or 1))[1]
    n = x.size // max(1, want.size)
    close(got.reshape(want.shape), want, dtype, ulp=2 + 2 * math.log2(n))


@pytest.mark.parametrize("shape,axis", AXES, ids=label)
def test_tuple(machine: Machine, rng: Any, shape: tuple, axis: int | None) -> None:
    """Three values of two types combined at once."""
    x = rng.standard_normal(shape).astype(np.float32)
    axes = tuple(range(len(shape))) if axis is None else axis
    want = x.astype(np.float64).var(axis=axes)
    where = index(want.shape) if want.ndim else "0"
    body = f"""
x = tl.load(x0 + {index(shape)})
n, mean, m2 = tl.reduce((x * 0 + 1, x, x * 0), {axis}, mean_m2)
tl.store(x1 + {where}, m2 / n)
i = {index(shape)}
v, at = tl.reduce((x, i), {axis}, first_best)
tl.store(x2 + {where}, tl.load(x0 + at) - v)
tl.store(x3 + {where}, v)
"""
    args = Arg(x, "float32"), *(result("float32", want.shape or 1) for _ in range(3))
    got = machine.run(body, *args, helpers=(mean_m2, first_best))
    np.testing.assert_allclose(got[1].reshape(want.shape), want, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(got[2], 0)
    np.testing.assert_array_equal(got[3].reshape(want.shape), x.max(axis=axes))


# --- scans ---------------------------------------------------------------------------
SCANS = [
    (name, t, *AXES[(2 * n + k + len(name)) % len(AXES)], rev)
    for name in ("cumsum", "cumprod", "associative_scan")
    for n, t in enumerate(("int1", *INTS, *FLOATS))
    for k, rev in enumerate((False, True))
    if t != "int1" or name == "cumsum"
]


@pytest.mark.parametrize("name,dtype,shape,axis,rev", SCANS, ids=label)
def test_scan(
    machine: Machine,
    rng: Any,
    name: str,
    dtype: str,
    shape: tuple,
    axis: int | None,
    rev: bool,
) -> None:
    axis = 0 if axis is None else axis
    out = "float32" if dtype == "bfloat16" and name != "associative_scan" else dtype
    if name == "cumsum":
        out = sum_type(out)
        x, text = whole(rng, dtype, shape), f"tl.cumsum(x, {axis}, reverse={rev})"
    elif name == "cumprod":
        values = rng.choice(
            [1, 1, 1, 3] if not is_float(dtype) else [1, 1, -1, 1], shape
        )
        out = sum_type(out)
        x, text = encode(values, dtype), f"tl.cumprod(x, {axis}, reverse={rev})"
    else:
        x = numbers(rng, dtype, shape)
        if is_float(dtype):
            x[np.isnan(decode(x, dtype))] = encode(0.5, dtype)
        text = f"tl.associative_scan(x, {axis}, larger, reverse={rev})"
    body = f"""
i = {index(shape)}
x = tl.load(x0 + i)
y = {text}
tl.static_assert(y.dtype == tl.{out})
tl.store(x1 + i, y)
"""
    warps = (1, 4, 8)[sum(map(ord, name + dtype)) % 3]
    got = machine.run(
        body,
        Arg(x, dtype),
        result(out, shape),
        helpers=(larger,),
        options={"num_warps": warps},
    )[1]
    v = decode(x, dtype)
    v = v.astype(np.float64 if is_float(out) else out)
    v = np.flip(v, axis) if rev else v
    do = {"cumsum": np.add, "cumprod": np.multiply}.get(name, np.maximum)
    want = do.accumulate(v, axis=axis, dtype=v.dtype)
    want = np.flip(want, axis) if rev else want
    np.testing.assert_array_equal(decode(got, out), want)


@pytest.mark.parametrize("rev", (False, True))
@pytest.mark.parametrize("shape,axis", AXES, ids=label)
def test_scan_tuple(
    machine: Machine, rng: Any, shape: tuple, axis: int | None, rev: bool
) -> None:
    """A combine function that does not commute, on a pair."""
    axis = 0 if axis is None else axis
    a, b = rng.integers(0, 2**32, (2, *shape), dtype=np.uint32)
    body = f"""
i = {index(shape)}
p, q = tl.associative_scan((tl.load(x0 + i), tl.load(x1 + i)), {axis}, affine, reverse={rev})
tl.store(x2 + i, p)
tl.store(x3 + i, q)
"""
    args = (
        Arg(a, "uint32"),
        Arg(b, "uint32"),
        result("uint32", shape),
        result("uint32", shape),
    )
    got = machine.run(body, *args, helpers=(affine,))
    a, b = (np.moveaxis(np.flip(v, axis) if rev else v, axis, 0) for v in (a, b))
    p, q = [a[0]], [b[0]]
    with np.errstate(over="ignore"):  # they wrap
        for k in range(1, len(a)):
            p.append(p[-1] * a[k])
            q.append(q[-1] * a[k] + b[k])
    for g, w in zip(got[2:], (p, q), strict=True):
        w = np.moveaxis(np.array(w), 0, axis)
        np.testing.assert_array_equal(g, np.flip(w, axis) if rev else w)


# --- sorting -------------------------------------------------------------------------
ROWS = [
    (1,),
    (2,),
    (64,),
    (512,),
    (8, 16),
    (32, 2),
    (2, 4, 32),
    (3,),
    (100,),
    (5, 24),
    (3, 2, 7),
]
SORTS = [
    (name, t, ROWS[(n + k * 3 + len(name)) % len(ROWS)])
    for name in ("sort", "sort down", "topk", "flip", "bitonic_merge")
    for n, t in enumerate((*INTS, *FLOATS))
    for k in (0, 1)
]


@pytest.mark.parametrize("name,dtype,shape", SORTS, ids=label)
def test_sort(machine: Machine, rng: Any, name: str, dtype: str, shape: tuple) -> None:
    x = numbers(rng, dtype, shape)
    if is_float(dtype):
        x[np.isnan(decode(x, dtype))] = encode(7.0, dtype)
        x[decode(x, dtype) == 0] = encode(0.0, dtype)
    order = np.argsort(decode(x, dtype), axis=-1, kind="stable")
    up = np.take_along_axis(x, order, -1)
    n, out = shape[-1], shape
    if name == "sort":
        text, want = "tl.sort(x)", up
    elif name == "sort down":
        text, want = "tl.sort(x, descending=True)", np.flip(up, -1)
    elif name == "topk":
        k = max(1, n // 4)
        text, want = f"tl.topk(x, {k})", np.flip(up, -1)[..., :k]
        out = (*shape[:-1], k)
    elif name == "flip":
        text, want = "tl.flip(x, -1)", np.flip(x, -1)
    else:
        x = np.concatenate([up[..., ::2], np.flip(up[..., 1::2], -1)], -1)
        text, want = "tl.bitonic_merge(x)", up
    body = f"x = tl.load(x0 + {index(shape)})\ntl.store(x1 + {index(out)}, {text})"
    got = machine.run(body, Arg(x, dtype), result(dtype, out))[1]
    same_bits(got, want, dtype)


@pytest.mark.parametrize("dim", (0, 1, 2))
def test_flip_dims(machine: Machine, dim: int) -> None:
    x = np.arange(256, dtype=np.int32).reshape(4, 8, 8)
    body = f"i = {index(x.shape)}\ntl.store(x1 + i, tl.flip(tl.load(x0 + i), {dim}))"
    got = machine.run(body, Arg(x, "int32"), result("int32", x.shape))[1]
    np.testing.assert_array_equal(got, np.flip(x, dim))


# --- histogram, gather ---------------------------------------------------------------
@pytest.mark.parametrize("dtype", ("int32", "uint8", "int64", "int16", "uint32"))
@pytest.mark.parametrize(
    "n,bins", ((1, 1), (64, 8), (512, 64), (32, 128), (1024, 2), (100, 10), (24, 100))
)
def test_histogram(machine: Machine, rng: Any, dtype: str, n: int, bins: int) -> None:
    x = rng.integers(0, bins, n).astype(dtype)
    body = f"""
i = tl.arange(0, {n})
x = tl.load(x0 + i)
b = tl.arange(0, {bins})
tl.store(x1 + b, tl.histogram(x, {bins}))
tl.store(x2 + b, tl.histogram(x, {bins}, mask=i % 3 != 1))
"""
    got = machine.run(body, Arg(x, dtype), result("int32", bins), result("int32", bins))
    np.testing.assert_array_equal(got[1], np.bincount(x, minlength=bins))
    some = x[np.arange(n) % 3 != 1]
    np.testing.assert_array_equal(got[2], np.bincount(some, minlength=bins))


GATHERS = [
    ((64,), (64,), 0), ((64,), (256,), 0), ((512,), (2,), 0), ((8, 16), (8, 4), 1),
    ((100,), (7,), 0), ((5, 24), (5, 3), 1), ((3, 16), (96, 16), 0), ((3, 5, 7), (3, 2, 7), 1),
    ((8, 16), (32, 16), 0), ((4, 8, 4), (4, 2, 4), 1), ((1, 64), (1, 64), 1), ((16, 2), (16, 64), 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ("int1", *INTS, *FLOATS, "float8e5"))
@pytest.mark.parametrize("shape,to,axis", GATHERS, ids=label)
def test_gather(
    machine: Machine, rng: Any, dtype: str, shape: tuple, to: tuple, axis: int
) -> None:
    kind = ("int32", "int64", "uint8", "int16")[len(dtype) % 4]
    x = numbers(rng, dtype, shape)
    at = rng.integers(0, min(shape[axis], 128), to).astype(kind)
    body = f"""
x = tl.load(x0 + {index(shape)})
i = {index(to)}
tl.store(x2 + i, tl.gather(x, tl.load(x1 + i), {axis}))
"""
    got = machine.run(body, Arg(x, dtype), Arg(at, kind), result(dtype, to))[2]
    same_bits(got, np.take_along_axis(x, at.astype(np.int64), axis), dtype)
