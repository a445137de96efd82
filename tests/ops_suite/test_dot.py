"""Matrix products: every type and precision, batches, any M, N and K from 1 up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import encode, is_float, storage
from suite import EPS, FP8, Arg, Machine, decode, result

# left, right, result, options of tl.dot, relative error of a product that is not exact
KINDS = {
    "f16": ("float16", "float16", "float32", "", 2.0**-22),
    "f16 in f16": ("float16", "float16", "float16", "out_dtype=tl.float16", 2.0**-10),
    "bf16": ("bfloat16", "bfloat16", "float32", "", 2.0**-22),
    "i8": ("int8", "int8", "int32", "out_dtype=tl.int32", 0),
    "f64": ("float64", "float64", "float64", "out_dtype=tl.float64", 2.0**-51),
    "ieee": ("float32", "float32", "float32", "input_precision='ieee'", 2.0**-22),
    "tf32": ("float32", "float32", "float32", "input_precision='tf32'", 2.0**-9),
    "tf32x3": ("float32", "float32", "float32", "input_precision='tf32x3'", 2.0**-19),
    "no tf32": ("float32", "float32", "float32", "allow_tf32=False", 2.0**-22),
    "default": ("float32", "float32", "float32", "", 2.0**-9),
    "e4m3": ("float8e4nv", "float8e4nv", "float32", "", 2.0**-22),
    "e5m2": ("float8e5", "float8e5", "float32", "", 2.0**-22),
    "e4m3 e5m2": ("float8e4nv", "float8e5", "float32", "", 2.0**-22),
    "e4b15": ("float8e4b15", "float8e4b15", "float32", "", 2.0**-22),
    "e4m3fnuz": ("float8e4b8", "float8e4b8", "float32", "", 2.0**-22),
    "e5m2fnuz": ("float8e5b16", "float8e5b16", "float32", "", 2.0**-22),
    "fnuz e4b15": ("float8e4b8", "float8e4b15", "float32", "", 2.0**-22),
    "e5m2 in f16": (
        "float8e5",
        "float8e5",
        "float16",
        "out_dtype=tl.float16",
        2.0**-10,
    ),
    "bf16x3": ("float32", "float32", "float32", "input_precision='bf16x3'", 2.0**-14),
    "bf16x6": ("float32", "float32", "float32", "input_precision='bf16x6'", 2.0**-20),
}
# B is a batch, 0 for none.
SIZES = [
    (0, 1, 1, 1), (0, 16, 16, 16), (0, 1, 64, 32), (0, 64, 1, 16), (0, 2, 4, 8),
    (0, 16, 8, 1), (0, 32, 32, 2), (0, 64, 32, 64), (0, 8, 128, 4), (0, 4, 16, 128),
    (2, 16, 16, 16), (4, 2, 8, 32), (1, 32, 16, 8), (2, 1, 4, 64),
    (0, 3, 5, 7), (0, 48, 80, 24), (0, 96, 16, 48), (0, 16, 33, 100), (3, 5, 16, 12),
]  # fmt: skip
CASES = [
    (kind, *SIZES[(5 * n + k) % len(SIZES)])
    for n, kind in enumerate(KINDS)
    for k in range(0, len(SIZES), 2 if n % 2 else 1)
]


def factors(rng: Any, dtype: str, shape: tuple, exact: bool) -> np.ndarray:
    if not is_float(dtype):
        return rng.integers(-128, 128, shape).astype(dtype)
    if exact:
        return encode(rng.integers(-2, 3, shape), dtype)
    return encode(rng.uniform(-1, 1, shape), dtype)


@pytest.mark.parametrize("exact", (True, False), ids=("exact", "rounded"))
@pytest.mark.parametrize("kind,b,m,n,k", CASES)
def test_dot(
    machine: Machine, rng: Any, kind: str, b: int, m: int, n: int, k: int, exact: bool
) -> None:
    """Of small whole numbers the product is exact in every precision."""
    left, right, out, options, error = KINDS[kind]
    batch = (b,) if b else ()
    x, y = (
        factors(rng, left, (*batch, m, k), exact),
        factors(rng, right, (*batch, k, n), exact),
    )
    acc = encode(rng.integers(-4, 5, (*batch, m, n)), out)
    comma = ", " if options else ""

    def at(shape: tuple) -> str:
        return f"tl.reshape(tl.arange(0, {int(np.prod(shape))}), {shape})"

    body = f"""
x = tl.load(x0 + {at(x.shape)})
y = tl.load(x1 + {at(y.shape)})
i = {at(acc.shape)}
z = tl.dot(x, y{comma}{options})
tl.static_assert(z.dtype == tl.{out})
tl.store(x3 + i, z)
tl.store(x4 + i, tl.dot(x, y, tl.load(x2 + i){comma}{options}))
"""
    memory = Arg(x, left), Arg(y, right), Arg(acc, out), *[result(out, acc.shape)] * 2
    warps = (4, 1, 8)[(m + n + k) % 3]
    got = machine.run(body, *memory, options={"num_warps": warps})[3:]
    wide = np.int64 if out == "int32" else np.longdouble
    a, c = decode(x, left).astype(wide), decode(y, right).astype(wide)
    product, size = a @ c, np.abs(a) @ np.abs(c)
    for g, plus in zip(
        got, (np.zeros(1, wide), decode(acc, out).astype(wide)), strict=True
    ):
        want = product + plus
        if exact or error == 0:
            np.testing.assert_array_equal(decode(g, out).astype(wide), want)
            continue
        # A rounding of each product, and one of each of the k sums.
        limit = error * (size + np.abs(plus)) * (1 if k < 4 else np.log2(k))
        limit += EPS[out] * (size + np.abs(plus)) * max(1, k / 8)
        off = np.abs(decode(g, out).astype(wide) - want)
        assert (off <= limit).all(), (off.max(), limit[off > limit])


@pytest.mark.parametrize(
    "kind", ("f16", "bf16", "i8", "f64", "tf32", "tf32x3", "ieee", *FP8)
)
def test_loop(machine: Machine, rng: Any, kind: str) -> None:
    """An accumulator through a loop over blocks with ragged edges; B by columns."""
    kind = next((k for k, v in KINDS.items() if v[0] == v[1] == kind), kind)
    left, right, out, options, _ = KINDS[kind]
    m, n, k = 35, 27, 75
    x, y = factors(rng, left, (m, k), True), factors(rng, right, (n, k), True)
    comma = ", " if options else ""
    zero = "0" if left == "int8" else "0.0"
    body = f"""
i = tl.program_id(0) * 32 + tl.arange(0, 32)[:, None]
j = tl.program_id(1) * 16 + tl.arange(0, 16)[None, :]
acc = tl.zeros((32, 16), tl.{out})
for p in tl.range(0, K, 32, num_stages=3):
    q = p + tl.arange(0, 32)
    x = tl.load(x0 + i * K + q[None, :], mask=(i < M) & (q[None, :] < K), other={zero})
    y = tl.load(x1 + j * K + q[:, None], mask=(j < N) & (q[:, None] < K), other={zero})
    acc = tl.dot(x, y, acc{comma}{options})
tl.store(x2 + i * N + j, acc, mask=(i < M) & (j < N))
"""
    memory = Arg(x, left), Arg(y, right), result(out, (m, n))
    got = machine.run(body, *memory, grid=(2, 2), M=m, N=n, K=k)[2]
    wide = np.int64 if out == "int32" else np.float64
    want = decode(x, left).astype(wide) @ decode(y, right).astype(wide).T
    np.testing.assert_array_equal(decode(got, out).astype(wide), want)
    assert got.dtype == storage(out)


@pytest.mark.parametrize(
    "dtype", ("float16", "bfloat16", "float32", "float8e5", "float8e4b8")
)
def test_chain(machine: Machine, rng: Any, dtype: str) -> None:
    """A product as the operand of the next one, transposed on the way."""
    x, y = factors(rng, dtype, (32, 16), True), factors(rng, dtype, (16, 32), True)
    body = f"""
a = tl.load(x0 + tl.reshape(tl.arange(0, 512), (32, 16)))
b = tl.load(x1 + tl.reshape(tl.arange(0, 512), (16, 32)))
p = tl.dot(a, b, input_precision="ieee")
p = tl.maximum(tl.minimum(p, 2.0), -2.0).to(tl.{dtype})
i = tl.reshape(tl.arange(0, 512), (32, 16))
tl.store(x2 + i, tl.dot(tl.trans(p), a, input_precision="ieee"))
"""
    got = machine.run(body, Arg(x, dtype), Arg(y, dtype), result("float32", (32, 16)))[
        2
    ]
    a, b = decode(x, dtype), decode(y, dtype)
    np.testing.assert_array_equal(got, np.clip(a @ b, -2, 2).T @ a)


def test_special_values(machine: Machine) -> None:
    """Infinity and NaN go through; what pads a small product stays out of it."""
    x = np.zeros((2, 4), np.float16)
    x[0, 1], x[1, 2] = np.inf, np.nan
    y = np.full((4, 2), 2, np.float16)
    body = """
x = tl.load(x0 + tl.reshape(tl.arange(0, 8), (2, 4)))
y = tl.load(x1 + tl.reshape(tl.arange(0, 8), (4, 2)))
tl.store(x2 + tl.reshape(tl.arange(0, 4), (2, 2)), tl.dot(x, y))
"""
    got = machine.run(
        body, Arg(x, "float16"), Arg(y, "float16"), result("float32", (2, 2))
    )[2]
    np.testing.assert_array_equal(got, [[np.inf, np.inf], [np.nan, np.nan]])
