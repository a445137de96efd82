"""What Triton gives where another answer would be as good, found by running both
(tests/against_triton): floats beyond an integer's range, and the types of results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import encode, storage
from suite import Arg, Machine, decode, result, same_bits

N = 64
BEYOND = [0.0, 2.75, -2.75, 127.5, 128.5, -128.5, -129.5, 255.5, 256.5, 300.25, -1.0]
BEYOND += [32767.5, 32768.0, -40000.0, 65535.0, 65536.0, 1e5, 3e38, -3e38]
BEYOND += [np.inf, -np.inf, np.nan]


def as_integers(v: np.ndarray, dtype: str) -> np.ndarray:
    """Cut off, then the nearest that the type holds; bytes are halves of 16 bits."""
    wide = dtype.replace("int8", "int16")
    info = np.iinfo(wide)
    whole = [
        0 if np.isnan(x) else info.max if x > info.max else info.min if x < info.min else int(x)
        for x in v.astype(np.float64)
    ]  # fmt: skip
    return np.array(whole, wide).astype(dtype)


@pytest.mark.parametrize("new", ("int8", "uint8", "int16", "uint16", "int32", "uint64"))
@pytest.mark.parametrize("old", ("float16", "bfloat16", "float32", "float64"))
def test_beyond(machine: Machine, old: str, new: str) -> None:
    """Of memory, stored without a cast, and folded."""
    x = encode(np.resize(np.array(BEYOND), N), old)
    body = f"""
i = tl.arange(0, {N})
tl.store(x1 + i, tl.load(x0 + i).to(tl.{new}))
tl.store(x2 + i, tl.load(x0 + i))
tl.store(x3, tl.cast(300.25, tl.{old}).to(tl.{new}))
tl.store(x3 + 1, tl.cast(-1e5, tl.{old}).to(tl.{new}))
tl.store(x3 + 2, tl.cast(float("nan"), tl.{old}).to(tl.{new}))
"""
    outs = [result(new, N), result(new, N), result(new, 3)]
    got = machine.run(body, Arg(x, old), *outs)[1:]
    want = as_integers(decode(x, old), new)
    np.testing.assert_array_equal(got[0], want)
    np.testing.assert_array_equal(got[1], want)
    few = encode(np.array([300.25, -1e5, np.nan]), old)
    np.testing.assert_array_equal(got[2], as_integers(decode(few, old), new))


@pytest.mark.parametrize("new", ("float16", "bfloat16", "float8e5"))
def test_infinity_toward_zero(machine: Machine, new: str) -> None:
    """Rounding toward zero keeps infinities; too large numbers become the largest."""
    body = f"""
i = tl.arange(0, 4)
tl.store(x1 + i, tl.load(x0 + i).to(tl.{new}, fp_downcast_rounding="rtz"))
"""
    x = np.array([np.inf, -np.inf, 3.4e38, -3.4e38], np.float32)
    got = machine.run(body, Arg(x, "float32"), result(new, 4))[1]
    bits = {"float16": 0x7C00, "bfloat16": 0x7F80, "float8e5": 0x7C}[new]
    sign = 1 << 8 * storage(new).itemsize - 1
    want = np.array([bits, bits | sign, bits - 1, bits - 1 | sign])
    raw = got.view(f"u{got.itemsize}")
    np.testing.assert_array_equal(raw, want)


# What an expression of x: float16, y: bfloat16, n: int8, h: float8e5 has as its type.
TYPES = [
    ("tl.maximum(x, y)", "float32"),
    ("tl.minimum(y, x)", "float32"),
    ("tl.maximum(x, x)", "float16"),
    ("tl.clamp(x, y, y)", "float32"),
    ("tl.clamp(x, x, x)", "float16"),
    ("tl.clamp(n, 3, 100.0)", "float32"),
    ("tl.clamp(h, 0, 1.0)", "float32"),
    ("tl.topk(x, 8)", "float32"),
    ("tl.topk(y, 8)", "float32"),
    ("tl.topk(n, 8)", "int32"),
    ("tl.topk(n.to(tl.uint16), 8)", "int32"),
    ("tl.topk(n.to(tl.uint32), 8)", "uint32"),
    ("tl.topk(x, 64)", "float16"),
    ("x.to(tl.float16, fp_downcast_rounding='rtn')", "float16"),
    ("tl.extra.libdevice.float2uint_rn(x.to(tl.float32))", "int32"),
    ("tl.extra.libdevice.double2ull_rd(x.to(tl.float64))", "int64"),
    ("tl.extra.libdevice.float_as_uint(x.to(tl.float32))", "int32"),
    ("tl.extra.libdevice.sad(n.to(tl.int32), 2, n.to(tl.uint32))", "int32"),
    ("tl.full([4], 18446744073709551616, tl.float32)", "float32"),
    ("tl.full([4], 3, tl.float8e5)", "float8e5"),
]


@pytest.mark.parametrize("text,dtype", TYPES, ids=[t for t, _ in TYPES])
def test_types(machine: Machine, text: str, dtype: str) -> None:
    body = f"""
i = tl.arange(0, {N})
x, y, n = tl.load(x0 + i), tl.load(x1 + i), tl.load(x2 + i)
h = x.to(tl.float8e5)
v = {text}
tl.static_assert(v.dtype == tl.{dtype})
tl.store(x3, tl.sum(v.to(tl.float32)))
"""
    ones = [Arg(encode(np.ones(N), t), t) for t in ("float16", "bfloat16", "int8")]
    got = machine.run(body, *ones, result("float32", 1))[3]
    assert np.isfinite(got[0])


CONSTANTS = [
    ("tl.cast(3, tl.float16)", "float16"),
    ("tl.cast(-1, tl.uint8)", "uint8"),
    ("tl.full((), 3, tl.int8)", "int8"),
    ("tl.zeros([], tl.float64)", "float64"),
    ("tl.cast(3.7, tl.int32)", "int32"),
]


@pytest.mark.parametrize("text,dtype", CONSTANTS, ids=[t for t, _ in CONSTANTS])
def test_constants_keep_their_type(machine: Machine, text: str, dtype: str) -> None:
    body = f"""
c: tl.constexpr = {text}
d = c
tl.static_assert(d.dtype == tl.{dtype})
tl.store(x0, d.to(tl.float32))
"""
    machine.run(body, result("float32", 1))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("op", ("and", "or", "xor"))
def test_bits_of_floats(machine: Machine, rng: Any, op: str, dtype: str) -> None:
    """Bitwise atomics of floats: on their bits, with the old value as a float."""
    t = storage(dtype)
    memory, x = (rng.standard_normal(N).astype(t) for _ in range(2))
    body = f"""
i = tl.arange(0, {N})
tl.store(x2 + i, tl.atomic_{op}(x0 + i, tl.load(x1 + i), mask=i != 3))
"""
    args = (Arg(memory, dtype), Arg(x, dtype), result(dtype, N))
    got = machine.run(body, *args)
    raw, y = memory.view(f"u{t.itemsize}"), x.view(f"u{t.itemsize}")
    new = {"and": raw & y, "or": raw | y, "xor": raw ^ y}[op]
    new[3] = raw[3]
    np.testing.assert_array_equal(got[0].view(raw.dtype), new)
    on = np.arange(N) != 3
    same_bits(got[2][on], memory[on], dtype)


def test_cas_signs(machine: Machine) -> None:
    """cmp and val may have the other sign; the result has that of val."""
    body = """
i = tl.arange(0, 4)
old = tl.atomic_cas(x0 + i, i, i - 5)
tl.static_assert(old.dtype == tl.int32)
tl.store(x1 + i, old)
one = tl.atomic_cas(x0 + 4, 4294967295, 7)
tl.static_assert(one.dtype == tl.int32)
tl.store(x1 + 4, one)
"""
    memory = np.array([0, 1, 9, 3, 2**32 - 1], np.uint32)
    got = machine.run(body, Arg(memory, "uint32"), result("int32", 5))
    np.testing.assert_array_equal(got[0].view(np.int32), [-5, -4, 9, -2, 7])
    np.testing.assert_array_equal(got[1], [0, 1, 9, 3, -1])


def test_byte_perm(machine: Machine) -> None:
    """Three bits of a selector count."""
    body = """
i = tl.arange(0, 4)
x, y = tl.full((4,), 0x33221100, tl.int32), tl.full((4,), 0x77665544, tl.int32)
tl.store(x1 + i, tl.extra.libdevice.byte_perm(x, y, tl.load(x0 + i)))
"""
    s = np.array([0x7654, 0xFEDC, 0x0426, 0x3210], np.int32)
    got = machine.run(body, Arg(s, "int32"), result("int32", 4))[1]
    np.testing.assert_array_equal(got, [0x77665544, 0x77665544, 0x00442266, 0x33221100])


def test_imprecise_steps(machine: Machine) -> None:
    """Only of fp8 the number must fit."""
    body = """
i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
x = tl.load(x0 + i)
tl.store(x1 + i, tl.dot(x, x, max_num_imprecise_acc=64))
"""
    x = np.arange(256, dtype=np.float16).reshape(16, 16) % 5
    got = machine.run(body, Arg(x, "float16"), result("float32", (16, 16)))[1]
    np.testing.assert_array_equal(got, x.astype(np.float32) @ x.astype(np.float32))


def test_out_dtype_of_int8(machine: Machine) -> None:
    """Products of int8 are int32, also where bfloat16 is asked for."""
    body = """
i = tl.arange(0, 32)
x = tl.load(x0 + i[:, None] * 32 + i[None, :])
tl.store(x1 + i[:, None] * 32 + i[None, :], tl.dot(x, x, out_dtype=tl.bfloat16))
"""
    x = (np.arange(1024) * 37 % 256).astype(np.int8)
    got = machine.run(body, Arg(x, "int8"), result("int32", 1024))[1]
    wide = x.reshape(32, 32).astype(np.int32)
    np.testing.assert_array_equal(got.reshape(32, 32), wide @ wide)
