"""Instructions of PTX on the interpreter of it, one row each, beside NumPy or the ISA."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simulated import Fault, available, elementwise, kernel, launch

pytestmark = pytest.mark.skipif(not available(), reason="no build/libptxsim.so")

F32_NAN = 0x7FFFFFFF


def integers(name: str, ptx_type: str, seed: str) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32((name + seed).encode()))
    dtype = np.dtype(f"{'i' if ptx_type[0] == 's' else 'u'}{int(ptx_type[1:]) // 8}")
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 32, dtype, endpoint=True)
    x[:8] = [info.min, info.max, 0, 1, 2, 31, 32, 7]
    x[8:16] = rng.permutation(x[:8])
    return rng.permutation(x)


def wide(f: Callable) -> Callable:
    """Python's integers, cut to 64 bits at the end."""

    def run(*args: np.ndarray) -> np.ndarray:
        rows = zip(*(a.tolist() for a in args), strict=True)
        return np.array([f(*row) & (2**64 - 1) for row in rows], np.uint64)

    return run


def bfe(x: int, at: int, n: int, bits: int, signed: bool) -> int:
    """As the ISA writes it."""
    at, n = at & 255, n & 255
    sign = 0
    if signed and n:
        sign = x >> min(at + n - 1, bits - 1) & 1
    d = 0
    for i in range(bits):
        d |= (x >> (i + at) & 1 if i < n and i + at < bits else sign) << i
    return d


def bfi(a: int, b: int, at: int, n: int) -> int:
    f = b
    for i in range(n & 255):
        if i + (at & 255) < 32:
            k = i + (at & 255)
            f = f & ~(1 << k) | (a >> i & 1) << k
    return f


def prmt(a: int, b: int, c: int) -> int:
    both, d = a | b << 32, 0
    for i in range(4):
        s = c >> 4 * i & 15
        byte = both >> 8 * (s & 7) & 255
        d |= (255 * (byte >> 7) if s & 8 else byte) << 8 * i
    return d


def lop3(table: int) -> Callable:
    def run(a: int, b: int, c: int) -> int:
        return sum(
            (table >> (4 * (a >> k & 1) + 2 * (b >> k & 1) + (c >> k & 1)) & 1) << k
            for k in range(32)
        )

    return run


def clamped(x: int) -> int:
    return min(max(x, -(2**31)), 2**31 - 1)


def shf_left(x: int, y: int, n: int) -> int:
    return (y << 32 | x) << (n & 31) >> 32


def shf_right(x: int, y: int, n: int) -> int:
    return (y << 32 | x) >> min(n, 32)


def byte(x: int, k: int) -> int:
    return (x >> 8 * k & 255 ^ 128) - 128


def dp4a(x: int, y: int, z: int) -> int:
    return z + sum(byte(x, k) * byte(y, k) for k in range(4))


def div(x: int, y: int) -> int:
    if y == 0:
        return -1
    return -(abs(x) // abs(y)) if (x < 0) != (y < 0) else abs(x) // abs(y)


INTEGERS = [
    ("add.u16", "u16", "u16 u16", lambda x, y: x + y),
    ("add.s32", "s32", "s32 s32", lambda x, y: x + y),
    ("sub.s64", "s64", "s64 s64", lambda x, y: x - y),
    ("mul.lo.s32", "s32", "s32 s32", lambda x, y: x * y),
    ("mul.hi.s32", "s32", "s32 s32", wide(lambda x, y: x * y >> 32)),
    ("mul.hi.u64", "u64", "u64 u64", wide(lambda x, y: x * y >> 64)),
    ("mul.hi.s64", "u64", "s64 s64", wide(lambda x, y: x * y >> 64)),
    ("mul.wide.s16", "s32", "s16 s16", wide(lambda x, y: x * y)),
    ("mul.wide.s32", "s64", "s32 s32", wide(lambda x, y: x * y)),
    ("mul.wide.u32", "u64", "u32 u32", wide(lambda x, y: x * y)),
    ("mad.lo.s32", "s32", "s32 s32 s32", lambda x, y, z: x * y + z),
    ("mad.hi.u32", "u32", "u32 u32 u32", wide(lambda x, y, z: (x * y >> 32) + z)),
    ("mad.wide.s32", "s64", "s32 s32 s64", wide(lambda x, y, z: x * y + z)),
    ("sad.s32", "s32", "s32 s32 u32", wide(lambda x, y, z: z + abs(x - y))),
    ("min.s16", "s16", "s16 s16", np.minimum),
    ("max.u64", "u64", "u64 u64", np.maximum),
    ("abs.s32", "s32", "s32", np.abs),
    ("neg.s64", "s64", "s64", lambda x: -x),
    ("add.sat.s32", "s32", "s32 s32", wide(lambda x, y: clamped(x + y))),
    ("and.b32", "u32", "u32 u32", lambda x, y: x & y),
    ("xor.b64", "u64", "u64 u64", lambda x, y: x ^ y),
    ("not.b16", "u16", "u16", lambda x: ~x),
    ("cnot.b32", "u32", "u32", lambda x: x == 0),
    ("shl.b32", "u32", "u32 u32", wide(lambda x, y: x << y if y < 32 else 0)),
    ("shr.u64", "u64", "u64 u32", wide(lambda x, y: x >> y if y < 64 else 0)),
    ("shr.s16", "s16", "s16 u32", wide(lambda x, y: x >> min(y, 15))),
    ("shf.l.wrap.b32", "u32", "u32 u32 u32", wide(shf_left)),
    ("shf.r.clamp.b32", "u32", "u32 u32 u32", wide(shf_right)),
    ("popc.b64", "u32", "u64", wide(lambda x: x.bit_count())),
    ("clz.b32", "u32", "u32", wide(lambda x: 32 - x.bit_length())),
    ("brev.b32", "u32", "u32", wide(lambda x: int(f"{x:032b}"[::-1], 2))),
    ("bfind.u32", "u32", "u32", wide(lambda x: x.bit_length() - 1)),
    ("bfind.s64", "u32", "s64", wide(lambda x: (x if x >= 0 else ~x).bit_length() - 1)),
    ("bfe.u32", "u32", "u32 u32 u32", wide(lambda x, y, z: bfe(x, y, z, 32, False))),
    ("bfe.s32", "u32", "u32 u32 u32", wide(lambda x, y, z: bfe(x, y, z, 32, True))),
    ("bfe.s64", "u64", "u64 u32 u32", wide(lambda x, y, z: bfe(x, y, z, 64, True))),
    ("prmt.b32", "u32", "u32 u32 u32", wide(prmt)),
    ("dp4a.s32.s32", "s32", "u32 u32 s32", wide(dp4a)),
    ("min.u16", "u16", "u16 u16", np.minimum),
    ("div.s32", "s32", "s32 s32", wide(div)),
    ("rem.u32", "u32", "u32 u32", wide(lambda x, y: x % y if y else -1)),
]  # fmt: skip


@pytest.mark.parametrize(
    "op,result,types,want", INTEGERS, ids=[row[0] for row in INTEGERS]
)
def test_integer(op: str, result: str, types: str, want: Callable) -> None:
    names = tuple(types.split())
    args = [integers(op, t, str(k)) for k, t in enumerate(names)]
    text = f"{op} %d, {', '.join('%' + c for c in 'abc'[: len(args)])};"
    got = elementwise(text, result, names, *args)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, want(*args).astype(got.dtype))


def test_lop3_and_bfi() -> None:
    a, b, c = (integers("lop3", "u32", k) for k in "abc")
    for table in (0x96, 0xE8, 0x1B):
        got = elementwise(
            f"lop3.b32 %d, %a, %b, %c, {table};", "b32", ("b32",) * 3, a, b, c
        )
        np.testing.assert_array_equal(got, wide(lop3(table))(a, b, c))
    got = elementwise("bfi.b32 %d, %a, %b, %c, 9;", "b32", ("b32",) * 3, a, b, c)
    np.testing.assert_array_equal(got, wide(lambda x, y, z: bfi(x, y, z, 9))(a, b, c))


def test_carries() -> None:
    a, b = integers("cc", "u64", "a"), integers("cc", "u64", "b")
    text = """
    .reg .b32 %l<6>;
    mov.b64 {%l0, %l1}, %a; mov.b64 {%l2, %l3}, %b;
    NAME.cc.u32 %l4, %l0, %l2; NAMEc.u32 %l5, %l1, %l3;
    mov.b64 %d, {%l4, %l5};"""
    for name, want in (("add", a + b), ("sub", a - b)):
        got = elementwise(text.replace("NAME", name), "b64", ("b64", "b64"), a, b)
        np.testing.assert_array_equal(got, want)


# --- comparisons ---------------------------------------------------------------------
def floats(seed: str, dtype: Any = np.float32) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    with np.errstate(over="ignore"):
        x = (rng.standard_normal(32) * np.exp2(rng.integers(-6, 6, 32))).astype(dtype)
    x[:9] = [0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 1, np.finfo(dtype).tiny / 4]
    return rng.permutation(x)


COMPARISONS = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: (x < y) | (x > y),
    "lt": lambda x, y: x < y,
    "ge": lambda x, y: x >= y,
    "neu": lambda x, y: x != y,
    "equ": lambda x, y: ~((x < y) | (x > y)),
    "ltu": lambda x, y: ~(x >= y),
    "gtu": lambda x, y: ~(x <= y),
    "num": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "nan": lambda x, y: np.isnan(x) | np.isnan(y),
}


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", ("f16", "f32", "f64"))
def test_setp_of_floats(name: str, dtype: str) -> None:
    there = np.dtype(f"f{int(dtype[1:]) // 8}")
    x, y = floats(name + "x", there), floats(name + "y", there)
    y[::3] = x[::3]
    got = elementwise(f"setp.{name}.{dtype} %d, %a, %b;", "pred", (dtype,) * 2, x, y)
    np.testing.assert_array_equal(got.astype(bool), COMPARISONS[name](x, y))


def test_setp_with_a_predicate_and_a_second_result() -> None:
    x, y = integers("p", "s32", "x"), integers("p", "s32", "y")
    p = integers("p", "u8", "p") & 1
    got = elementwise(
        ".reg .pred %q; setp.lt.and.s32 %d|%q, %a, %b, !%c; xor.pred %d, %d, %q;",
        "pred", ("s32", "s32", "pred"), x, y, p,
    )  # fmt: skip
    np.testing.assert_array_equal(got, 1 - p)
    got = elementwise("setp.lo.u32 %d, %a, %b;", "pred", ("u32", "u32"), x, y)
    np.testing.assert_array_equal(got, x.view("u4") < y.view("u4"))


def test_selection() -> None:
    x, y = integers("s", "u64", "x"), integers("s", "u64", "y")
    p, c = integers("s", "u8", "p") & 1, integers("s", "s32", "c")
    got = elementwise(
        "selp.b64 %d, %a, %b, %c;", "b64", ("b64", "b64", "pred"), x, y, p
    )
    np.testing.assert_array_equal(got, np.where(p, x, y))
    got = elementwise(
        "slct.u64.s32 %d, %a, %b, %c;", "b64", ("b64", "b64", "s32"), x, y, c
    )
    np.testing.assert_array_equal(got, np.where(c >= 0, x, y))
    got = elementwise("set.gt.u32.s32 %d, %a, %b;", "b32", ("s32", "s32"), c, -c)
    np.testing.assert_array_equal(got, np.where(c > -c, 0xFFFFFFFF, 0))
    got = elementwise("set.le.f32.s32 %d, %a, %b;", "b32", ("s32", "s32"), c, -c)
    np.testing.assert_array_equal(got.view("f4"), np.where(c <= -c, 1, 0))


# --- floats --------------------------------------------------------------------------
def same(got: np.ndarray, want: np.ndarray) -> None:
    """To the bit; NaN is NaN."""
    want = want.astype(f"f{got.itemsize}")
    both = np.isnan(want) & np.isnan(got.view(want.dtype))
    np.testing.assert_array_equal(
        np.where(both, 0, got), np.where(both, 0, want.view(got.dtype))
    )


FLOATS = [
    ("add", "a b", lambda x, y: x + y),
    ("sub", "a b", lambda x, y: x - y),
    ("mul.rn", "a b", lambda x, y: x * y),
    ("div.rn", "a b", lambda x, y: x / y),
    ("sqrt.rn", "a", np.sqrt),
    ("rcp.rn", "a", lambda x: 1 / x),
    ("abs", "a", np.abs),
    ("neg", "a", lambda x: -x),
    ("min", "a b", np.fmin),
    ("max", "a b", np.fmax),
    ("copysign", "a b", lambda x, y: np.copysign(y, x)),
]  # fmt: skip


@pytest.mark.parametrize("bits", (32, 64))
@pytest.mark.parametrize("op,names,want", FLOATS, ids=[row[0] for row in FLOATS])
def test_float(op: str, names: str, want: Callable, bits: int) -> None:
    t = f"f{bits}"
    args = [floats(op + c, f"f{bits // 8}") for c in names.split()]
    operands = ", ".join("%" + c for c in names.split())
    got = elementwise(f"{op}.{t} %d, {operands};", t, (t,) * len(args), *args)
    with np.errstate(all="ignore"):
        same(got, want(*args))


def test_fma_rounds_once() -> None:
    x = np.full(32, 1 + 2.0**-12, np.float32)
    z = np.full(32, -(1 + 2.0**-11), np.float32)
    got = elementwise("fma.rn.f32 %d, %a, %a, %b;", "f32", ("f32", "f32"), x, z)
    np.testing.assert_array_equal(got.view("f4"), 2.0**-24)


@pytest.mark.parametrize(
    "mode,want", [("rz", 1), ("rm", 1), ("rp", 1 + 2.0**-23), ("rn", 1)]
)
def test_rounding_modes(mode: str, want: float) -> None:
    x, y = np.full(32, 1, np.float32), np.full(32, 2.0**-40, np.float32)
    got = elementwise(f"add.{mode}.f32 %d, %a, %b;", "f32", ("f32", "f32"), x, y)
    np.testing.assert_array_equal(got.view("f4"), np.float32(want))


def test_flush_saturate_and_nan() -> None:
    x = np.tile(np.array([2.0**-130, -(2.0**-130), 3, -3, np.nan, 0.5, 0, 1], "f4"), 4)
    one = np.ones(32, np.float32)
    two = ("f32", "f32")
    got = elementwise("mul.ftz.f32 %d, %a, %b;", "f32", two, x, one).view("f4")
    np.testing.assert_array_equal(got[:2], [0, 0])
    assert np.signbit(got[1])
    got = elementwise("mul.sat.f32 %d, %a, %b;", "f32", two, x, one)
    np.testing.assert_array_equal(
        got.view("f4")[:8], np.float32([2.0**-130, 0, 1, 0, 0, 0.5, 0, 1])
    )
    got = elementwise("add.f32 %d, %a, %b;", "f32", two, x, one)
    assert got[4] == F32_NAN
    got = elementwise("max.NaN.f32 %d, %a, %b;", "f32", two, x, one)
    assert got[4] == F32_NAN and got.view("f4")[2] == 3
    got = elementwise("min.xorsign.abs.f32 %d, %a, %b;", "f32", two, x, one)
    np.testing.assert_array_equal(got.view("f4")[2:4], [1, -1])


def test_halves_as_on_an_h200() -> None:
    """-0 is clamped to 0, and a pair's NaN is 0x7fff behind abs: seen there."""
    x = np.full(32, 0x1147_21B4, np.uint32)
    y = np.full(32, 0x8000_0001, np.uint32)
    two = ("b32", "b32")
    got = elementwise("fma.rn.relu.bf16x2 %d, %a, %b, %b;", "b32", two, x, y)
    assert (got == 1).all()
    got = elementwise("abs.bf16x2 %d, %a;", "b32", ("b32",), x * 0 + 0x7FC0_8001)
    assert (got == 0x7FFF_0001).all()


APPROXIMATE = [
    ("ex2.approx.ftz", np.exp2, 2),
    ("lg2.approx", np.log2, 8),
    ("sqrt.approx", np.sqrt, 1),
    ("rsqrt.approx.ftz", lambda x: 1 / np.sqrt(x), 2),
    ("rcp.approx.ftz", lambda x: 1 / x, 1),
    ("tanh.approx", np.tanh, 2**12),
]


@pytest.mark.parametrize("op,want,ulp", APPROXIMATE, ids=[r[0] for r in APPROXIMATE])
def test_approximate(op: str, want: Callable, ulp: int) -> None:
    x = np.abs(floats(op))
    x[x < 1e-30] = 1
    with np.errstate(all="ignore"):
        w = want(x.astype(np.float64)).astype(np.float32)
    got = elementwise(f"{op}.f32 %d, %a;", "f32", ("f32",), x).view("f4")
    at = np.isfinite(w)
    assert (np.abs(got[at] - w[at]) <= ulp * np.spacing(np.abs(w[at]))).all()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(w))


def test_halves() -> None:
    x, y, z = (floats("h" + c, np.float16) for c in "xyz")
    with np.errstate(all="ignore"):
        same(elementwise("add.f16 %d, %a, %b;", "f16", ("f16",) * 2, x, y), x + y)
        same(elementwise("mul.f16 %d, %a, %b;", "f16", ("f16",) * 2, x, y), x * y)
        want = x.astype(np.longdouble) * y + z
        got = elementwise("fma.rn.f16 %d, %a, %b, %c;", "f16", ("f16",) * 3, x, y, z)
        same(got, want.astype(np.float16))
        pairs = [np.repeat(v, 2).view(np.uint32) for v in (x, y)]
        got = elementwise("add.f16x2 %d, %a, %b;", "b32", ("b32", "b32"), *pairs)
        same(got.view(np.uint16), np.repeat(x + y, 2))


# --- conversions ---------------------------------------------------------------------
CONVERSIONS = [
    ("cvt.u64.u32", "u64", "u32", lambda x: x),
    ("cvt.s64.s32", "s64", "s32", lambda x: x),
    ("cvt.u32.u64", "u32", "u64", lambda x: x),
    ("cvt.s32.s16", "s32", "s16", lambda x: x),
    ("cvt.sat.u16.s32", "u16", "s32", lambda x: x.clip(0, 65535)),
    ("cvt.sat.s16.u64", "s16", "u64", lambda x: np.minimum(x, 32767)),
    ("cvt.rn.f32.s32", "f32", "s32", lambda x: x.astype(np.float32)),
    ("cvt.rn.f32.u64", "f32", "u64", lambda x: x.astype(np.float32)),
    ("cvt.rn.f32.s64", "f32", "s64", lambda x: x.astype(np.float32)),
    ("cvt.rn.f64.s64", "f64", "s64", lambda x: x.astype(np.float64)),
]


@pytest.mark.parametrize(
    "op,to,of,want", CONVERSIONS, ids=[row[0] for row in CONVERSIONS]
)
def test_convert_integers(op: str, to: str, of: str, want: Callable) -> None:
    x = integers(op, of, "x")
    got = elementwise(f"{op} %d, %a;", to, (of,), x)
    w = want(x)
    w = w.view(got.dtype) if w.dtype.kind == "f" else w.astype(got.dtype)
    np.testing.assert_array_equal(got, w)


def test_convert_floats_to_integers() -> None:
    x = np.tile(np.array([2.5, -2.5, 1e20, -1e20, np.nan, -0.7, 3.5, np.inf], "f4"), 4)
    rows = {
        "rni.s32": [2, -2, 2**31 - 1, -(2**31), 0, -1, 4, 2**31 - 1],
        "rzi.s32": [2, -2, 2**31 - 1, -(2**31), 0, 0, 3, 2**31 - 1],
        "rmi.s32": [2, -3, 2**31 - 1, -(2**31), 0, -1, 3, 2**31 - 1],
        "rpi.u32": [3, 0, 2**32 - 1, 0, 0, 0, 4, 2**32 - 1],
        "rzi.s64": [2, -2, 2**63 - 1, -(2**63), -(2**63), 0, 3, 2**63 - 1],
        "rzi.u64": [2, 0, 2**64 - 1, 0, 2**63, 0, 3, 2**64 - 1],
    }
    for row, want in rows.items():
        t = row.split(".")[1]
        got = elementwise(f"cvt.{row}.f32 %d, %a;", t, ("f32",), x)[:8].tolist()
        assert got == [w % 2 ** int(t[1:]) for w in want], row


def test_round_to_whole_numbers() -> None:
    x = np.tile(np.array([2.5, -2.5, 0.5, -0.5, np.inf, -0.7, 3.5, 1e20], "f4"), 4)
    rows = (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil))
    for mode, want in rows:
        same(elementwise(f"cvt.{mode}.f32.f32 %d, %a;", "f32", ("f32",), x), want(x))


# --- lanes together ------------------------------------------------------------------
LANE = np.arange(32, dtype=np.uint32)


@pytest.mark.parametrize(
    "mode,b,c,want",
    [
        ("bfly", 5, 31, LANE ^ 5),
        ("up", 3, 0, np.where(LANE >= 3, LANE - 3, LANE)),
        ("down", 3, 31, np.where(LANE < 29, LANE + 3, LANE)),
        ("idx", 9, 31, np.full(32, 9)),
        ("idx", 9, 31 | 24 << 8, LANE & 24 | 1),
        ("up", 2, 24 << 8, np.where(LANE % 8 >= 2, LANE - 2, LANE)),
    ],
)
def test_shuffle(mode: str, b: int, c: int, want: np.ndarray) -> None:
    text = f"shfl.sync.{mode}.b32 %d, %a, {b}, {c}, 0xffffffff;"
    got = elementwise(text, "b32", ("b32",), LANE * 7)
    np.testing.assert_array_equal(got, want * 7)


def test_votes() -> None:
    p = (LANE % 3 == 0).astype(np.uint8)
    bits = sum(int(v) << k for k, v in enumerate(p))
    rows = {
        "vote.sync.ballot.b32 %d, %a, -1;": ("b32", bits),
        "vote.sync.any.pred %d, %a, -1;": ("pred", 1),
        "vote.sync.all.pred %d, %a, -1;": ("pred", 0),
        "@%a activemask.b32 %d; @!%a activemask.b32 %d;": ("b32", None),
    }
    for text, (result, want) in rows.items():
        got = elementwise(text, result, ("pred",), p)
        if want is None:
            want = np.where(p, bits, ~np.uint32(bits))
        np.testing.assert_array_equal(got, want)
    got = elementwise("match.any.sync.b32 %d, %a, -1;", "b32", ("b32",), LANE % 4)
    np.testing.assert_array_equal(got, 0x11111111 << LANE % 4)


@pytest.mark.parametrize("op", ("add", "min", "max", "and", "or", "xor"))
def test_redux(op: str) -> None:
    x = integers(op, "s32", "r")
    t = "b32" if op in ("and", "or", "xor") else "s32"
    f = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
         "or": np.bitwise_or, "xor": np.bitwise_xor}[op]  # fmt: skip
    got = elementwise(f"redux.sync.{op}.{t} %d, %a, -1;", "b32", ("b32",), x)
    np.testing.assert_array_equal(got.view("i4"), f.reduce(x))


# --- memory --------------------------------------------------------------------------
def test_vectors_and_small_types() -> None:
    x = np.random.default_rng(0).integers(0, 256, 32 * 16, np.uint8)
    body = """
    .reg .b32 %r<8>; .reg .b16 %h<4>;
    mad.wide.u32 %at0, %t, 16, %p0; mad.wide.u32 %at1, %t, 16, %p1;
    ld.global.s8 %r0, [%at0+3]; ld.global.v2.u16 {%r1, %r2}, [%at0+4];
    ld.global.nc.L1::no_allocate.v2.b32 {%r3, %r4}, [%at0+8];
    add.u32 %r1, %r1, %r2;
    st.global.v4.b32 [%at1], {%r0, %r1, %r3, %r4};"""
    _, got = launch(kernel(body, 2), x, np.zeros(32 * 4, np.int32))
    rows = x.reshape(32, 16)
    got = got.reshape(32, 4)
    np.testing.assert_array_equal(got[:, 0], rows[:, 3].view(np.int8))
    halves = rows.view(np.uint16).astype(np.int32)
    np.testing.assert_array_equal(got[:, 1], halves[:, 2] + halves[:, 3])
    np.testing.assert_array_equal(got[:, 2:], rows.view(np.int32)[:, 2:])


ATOMICS = [
    ("add.u32", np.add), ("min.s32", np.minimum), ("max.u32", np.maximum),
    ("and.b32", np.bitwise_and), ("or.b32", np.bitwise_or), ("xor.b32", np.bitwise_xor),
]  # fmt: skip


@pytest.mark.parametrize("op,f", ATOMICS, ids=[row[0] for row in ATOMICS])
@pytest.mark.parametrize("space", ("global", "shared"))
def test_atomics(op: str, f: Any, space: str) -> None:
    dtype = np.int32 if ".s" in op else np.uint32
    x = integers(op, "s32" if ".s" in op else "u32", "x")
    start = np.array([12345], dtype)
    at = "%p1" if space == "global" else "smem"
    body = f"""
    .reg .b32 %r<4>; .reg .pred %q;
    mad.wide.u32 %at0, %t, 4, %p0; ld.global.b32 %r0, [%at0];
    setp.eq.u32 %q, %t, 0;
    @%q ld.global.b32 %r1, [%p1]; @%q st.{space}.b32 [{at}], %r1;
    bar.warp.sync -1;
    red.relaxed.gpu.{space}.{op} [{at}], %r0;
    bar.warp.sync -1;
    @%q ld.{space}.b32 %r1, [{at}]; @%q st.global.b32 [%p1], %r1;"""
    _, got = launch(kernel(body, 2), x, start, shared=16)
    assert got[0] == f.reduce(x, initial=start[0], dtype=dtype)


def test_atomics_of_floats_flush_in_global_memory() -> None:
    x = np.float32([2.0**-140, 2.0**-126])
    body = """
    .reg .b32 %r<4>; .reg .pred %q;
    setp.eq.u32 %q, %t, 0;
    @%q ld.global.b32 %r0, [%p0+4];
    @%q atom.global.add.f32 %r1, [%p0], %r0;"""
    (got,) = launch(kernel(body, 1), x)
    assert got[0] == np.float32(2.0**-126)


def test_vector_reduction() -> None:
    x = np.zeros(4, np.float32)
    body = """
    .reg .b32 %r<4>;
    cvt.rn.f32.u32 %r0, %t; mov.b32 %r1, 0f3F800000;
    red.global.v4.f32.add [%p0], {%r0, %r1, %r1, %r0};"""
    body = body.replace("red.global.v4.f32.add", "red.relaxed.gpu.global.add.v4.f32")
    (got,) = launch(kernel(body, 1), x)
    assert got.tolist() == [496, 32, 32, 496]


# --- copies that land late -----------------------------------------------------------
COPY = """
    .reg .b32 %s, %r<4>; .reg .b64 %w; .reg .pred %q;
    mov.b64 %w, smem; cvt.u32.u64 %s, %w; mad.lo.u32 %s, %t, 16, %s;
    mad.wide.u32 %at0, %t, 16, %p0; mad.wide.u32 %at1, %t, 16, %p1;
    cp.async.cg.shared.global [%s], [%at0], 16{more};
    cp.async.commit_group;
    {wait}
    ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [%s];
    st.global.v4.b32 [%at1], {{%r0, %r1, %r2, %r3}};"""


def test_async_copies() -> None:
    x = np.arange(128, dtype=np.uint32)
    wait = "cp.async.wait_group 0;"
    body = COPY.format(more="", wait=wait)
    np.testing.assert_array_equal(launch(kernel(body, 2), x, 0 * x, shared=512)[1], x)
    body = COPY.format(more=", 12", wait=wait)
    want = np.where(x % 4 < 3, x, 0)
    np.testing.assert_array_equal(
        launch(kernel(body, 2), x, 0 * x, shared=512)[1], want
    )
    for wait in ("", "cp.async.wait_group 1;"):
        body = COPY.format(more="", wait=wait)
        with pytest.raises(Fault, match=r"cp\.async that nobody has waited for"):
            launch(kernel(body, 2), x, 0 * x, shared=512)


# --- control -------------------------------------------------------------------------
def test_lanes_part_and_meet() -> None:
    """Collatz, each lane as long as it takes; then a shuffle of all."""
    body = """
    .reg .b32 %n, %c, %h, %o; .reg .pred %q;
    add.u32 %n, %t, 1; mov.u32 %c, 0;
LOOP:
    setp.eq.u32 %q, %n, 1; @%q bra DONE;
    and.b32 %h, %n, 1; add.u32 %c, %c, 1; setp.eq.u32 %q, %h, 0;
    @%q bra EVEN;
    mad.lo.u32 %n, %n, 3, 1; bra.uni LOOP;
EVEN:
    shr.u32 %n, %n, 1; bra.uni LOOP;
DONE:
    shfl.sync.bfly.b32 %o, %c, 1, 31, -1;
    mad.wide.u32 %at0, %t, 4, %p0; st.global.u32 [%at0], %o;"""
    (got,) = launch(kernel(body, 1), np.zeros(32, np.uint32))

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    np.testing.assert_array_equal(got, [steps((k ^ 1) + 1) for k in range(32)])


def test_lanes_meet_behind_a_loop_that_was_turned() -> None:
    """Where they meet stands above where they part."""
    body = """
    .reg .b32 %n, %o; .reg .pred %q, %s;
    mov.u32 %n, 0;
    bra.uni PART;
MEET:
    shfl.sync.bfly.b32 %o, %t, 1, 31, -1;
    add.u32 %n, %n, %o;
    setp.ge.u32 %s, %t, 0; @%s bra DONE;
PART:
    setp.lt.u32 %q, %t, 7; @%q bra MEET;
    add.u32 %n, %n, 0;
    bra.uni MEET;
DONE:
    mad.wide.u32 %at0, %t, 4, %p0; st.global.u32 [%at0], %n;"""
    (got,) = launch(kernel(body, 1), np.zeros(32, np.uint32))
    np.testing.assert_array_equal(got, LANE ^ 1)


FUNCTION = """
.func (.param .b32 r) rise(.param .b32 a, .param .b32 b)
{
    .reg .b32 %u, %v; .reg .pred %q;
    ld.param.b32 %u, [a]; ld.param.b32 %v, [b];
LOOP:
    setp.gt.u32 %q, %u, 10; @%q bra DONE;
    add.u32 %u, %u, 3; bra.uni LOOP;
DONE:
    mad.lo.u32 %u, %u, 1000, %v;
    st.param.b32 [r], %u;
    ret;
}
"""


@pytest.mark.parametrize("guard", ("", "@%q "))
def test_functions(guard: str) -> None:
    """Called by all lanes, or by some; twice, so that the frame is used again."""
    once = f"""
    {{ .param .b32 q0; .param .b32 q1; .param .b32 rv;
    st.param.b32 [q0], %t; st.param.b32 [q1], %y; st.param.b32 [rv], %y;
    {guard}call.uni (rv), rise, (q0, q1);
    ld.param.b32 %y, [rv]; }}"""
    body = f"""
    .reg .b32 %y; .reg .pred %q;
    setp.lt.u32 %q, %t, 5; add.u32 %y, %t, 100;
    {once} {once}
    mad.wide.u32 %at0, %t, 4, %p0; st.global.u32 [%at0], %y;"""
    head = ".func (.param .b32 r) rise(.param .b32 a, .param .b32 b);\n.extern"
    text = kernel(body, 1).replace(".extern", head, 1) + FUNCTION
    (got,) = launch(text, np.zeros(32, np.uint32))
    rise = np.where(LANE > 10, LANE, LANE + (13 - LANE) // 3 * 3) * 1000
    want = LANE + 100 + np.where((LANE < 5) | (guard == ""), 2 * rise, 0)
    np.testing.assert_array_equal(got, want)


CALLS = """
.func (.param .b32 r) NAME(.param .b32 a)
{
    .reg .b32 %u; .param .b32 q; .param .b32 rv;
    ld.param.b32 %u, [a]; st.param.b32 [q], %u;
    call.uni (rv), OTHER, (q);
    ld.param.b32 %u, [rv]; st.param.b32 [r], %u; ret;
}
"""


@pytest.mark.parametrize(
    "calls, refused",
    [
        ({"f": "f"}, "f"),
        ({"f": "g", "g": "h", "h": "g"}, "g"),
        ({"f": "h", "g": "h", "h": "leaf"}, None),
    ],
)
def test_recursion_is_refused(calls: dict[str, str], refused: str | None) -> None:
    """A thread has one frame of each function: never a wrong answer."""
    one = ".func (.param .b32 r) NAME(.param .b32 a)"
    leaf = one.replace("NAME", "leaf") + " { st.param.b32 [r], 9; ret; }\n"
    heads = "".join(one.replace("NAME", f) + ";\n" for f in (*calls, "leaf"))
    text = "".join(
        CALLS.replace("NAME", f).replace("OTHER", to) for f, to in calls.items()
    )
    body = "".join(
        f""" {{ .param .b32 q; .param .b32 rv; st.param.b32 [q], %t;
        call.uni (rv), {f}, (q); ld.param.b32 %t, [rv]; }}"""
        for f in calls
    )
    body += " st.global.u32 [%p0], %t;"
    ptx = kernel(body, 1).replace(".extern", heads + ".extern", 1) + text + leaf
    if refused is None:
        (got,) = launch(ptx, np.zeros(1, np.uint32))
        assert got[0] == 9
        return
    with pytest.raises(Fault, match=rf"line [0-9]+: {refused} calls itself: recursion"):
        launch(ptx, np.zeros(1, np.uint32))


def test_barriers_between_warps() -> None:
    body = """
    .reg .b32 %r<4>; .reg .b64 %w; .reg .pred %q;
    mov.b64 %w, smem; mad.wide.u32 %at0, %t, 4, %w;
    st.shared.u32 [%at0], %t;
    bar.sync 0;
    sub.u32 %r0, 127, %t; mad.wide.u32 %at1, %r0, 4, %w;
    ld.shared.u32 %r1, [%at1];
    setp.lt.u32 %q, %t, 40;
    barrier.cta.red.popc.aligned.u32 %r2, 1, %q;
    add.u32 %r1, %r1, %r2;
    mad.wide.u32 %at2, %t, 4, %p0; st.global.u32 [%at2], %r1;"""
    (got,) = launch(kernel(body, 1), np.zeros(128, np.uint32), block=128, shared=512)
    np.testing.assert_array_equal(got, 127 - np.arange(128) + 40)


@pytest.mark.parametrize(
    "low, keep, want",
    [
        (True, "shl.b32 %r0, %r0, 16;", 0xABCD0000),
        (True, "and.b32 %r0, %r0, 0xffff;", 0xABCD),
        (False, "shr.u32 %r0, %r0, 16;", 0xABCD),
        (False, "shr.s32 %r0, %r0, 16;", 0xFFFFABCD),
        (False, "and.b32 %r0, %r0, -65536;", 0xABCD0000),
    ],
)
def test_the_half_of_a_word_that_nobody_wrote(low: bool, keep: str, want: int) -> None:
    """bfloat16 before sm_90: a half goes into a word, and to where floats have it."""

    def body(low: bool) -> str:
        return f""".reg .b16 %h<2>; .reg .b32 %r0; mov.b16 %h0, 0xabcd;
            mov.b32 %r0, {{{"%h0, %h1" if low else "%h1, %h0"}}};
            {keep} st.global.b32 [%p0], %r0;"""

    (got,) = launch(kernel(body(low), 1), np.zeros(1, np.uint32))
    assert got[0] == want
    with pytest.raises(Fault, match="never written"):
        launch(kernel(body(not low), 1), np.zeros(1, np.uint32))


@pytest.mark.parametrize("places", [(0, 8, 16, 24), (0, 8, 16), (8, 16, 24)])
def test_bytes_put_into_a_word_that_nobody_wrote(places: tuple) -> None:
    """Pairs of int8 that are loaded and become operands of mma."""
    body = ".reg .b32 %r0; " + "".join(
        f"bfi.b32 %r0, {0x101 * (k + 1)}, %r0, {at}, 8; " for k, at in enumerate(places)
    )
    text = kernel(body + "st.global.b32 [%p0], %r0;", 1)
    if len(places) == 4:
        assert launch(text, np.zeros(1, np.uint32))[0][0] == 0x04030201
    else:
        with pytest.raises(Fault, match="never written"):
            launch(text, np.zeros(1, np.uint32))


def test_a_byte_put_where_a_half_was_never_written() -> None:
    body = """.reg .b16 %h<2>; .reg .b32 %r0; mov.b16 %h0, 0xabcd;
        mov.b32 %r0, {%h0, %h1}; bfi.b32 %r0, 0x12, %r0, 16, 8;"""
    for keep, want in [
        ("and.b32 %r0, %r0, 0xffff;", 0xABCD),
        ("prmt.b32 %r0, %r0, 0, 0x0012;", 0xCDCDAB12),
    ]:
        text = kernel(body + keep + "st.global.b32 [%p0], %r0;", 1)
        assert launch(text, np.zeros(1, np.uint32))[0][0] == want
    for keep in ("", "prmt.b32 %r0, %r0, 0, 0x3012;", "shr.u32 %r0, %r0, 16;"):
        text = kernel(body + keep + "st.global.b32 [%p0], %r0;", 1)
        with pytest.raises(Fault, match="never written"):
            launch(text, np.zeros(1, np.uint32))


# %r1 and %rd1 are 0x????abcd, in the lower words; %r2 is 0xabcd????; %u was never written.
# What is stored, and what must come; None: a report.
PARTS = [
    ("cvt.s64.s16 %rd2, %rd1; st.global.b64 [%p0], %rd2;", 0xFFFFFFFFFFFFABCD),
    ("cvt.s64.s32 %rd2, %r1; st.global.b64 [%p0], %rd2;", None),
    ("cvt.u64.u32 %rd2, %r1; shl.b64 %rd2, %rd2, 48; st.global.b64 [%p0], %rd2;",
     0xABCD000000000000),
    ("bfi.b32 %r3, 0xcd, %u, 0, 8; cvt.u64.u32 %rd2, %r3; cvt.s64.s8 %rd2, %rd2;"
     "st.global.b64 [%p0], %rd2;", 0xFFFFFFFFFFFFFFCD),
    ("bfi.b32 %r3, 0xcd, %u, 0, 8; cvt.u64.u32 %rd2, %r3; cvt.s64.s16 %rd2, %rd2;"
     "st.global.b64 [%p0], %rd2;", None),
    ("cvt.u32.u64 %r3, %rd1; and.b32 %r3, %r3, 0xffff; st.global.b32 [%p0], %r3;", 0xABCD),
    ("cvt.sat.s8.s16 %r3, %r1; st.global.b32 [%p0], %r3;", 0xFFFFFF80),
    ("cvt.rn.f32.u16 %f, %r1; st.global.b32 [%p0], %f;", 0x472BCD00),
    ("cvt.rn.f32.u32 %f, %r1; st.global.b32 [%p0], %f;", None),
    ("xor.b32 %r3, %r1, %r4; st.global.b16 [%p0], %r3;", 0xABCC),
    ("xor.b32 %r3, %r1, %r4; st.global.b32 [%p0], %r3;", None),
    ("xor.b32 %r3, %u, %u; st.global.b32 [%p0], %r3;", 0),
    ("xor.b32 %r3, %u, %r4; st.global.b32 [%p0], %r3;", None),
    ("or.b32 %r3, %r1, 0xffff0000; st.global.b32 [%p0], %r3;", 0xFFFFABCD),
    ("not.b32 %r3, %r1; st.global.b16 [%p0], %r3;", 0x5432),
    ("lop3.b32 %r3, %r1, %r2, -65536, 0xca; st.global.b32 [%p0], %r3;", None),
    ("lop3.b32 %r3, -65536, %r2, %r1, 0xca; st.global.b32 [%p0], %r3;", 0xABCDABCD),
    ("shl.b32 %r3, %r1, 24; st.global.b32 [%p0], %r3;", 0xCD000000),
    ("shr.u32 %r3, %r2, 24; st.global.b32 [%p0], %r3;", 0xAB),
    ("shr.u32 %r3, %r2, 8; st.global.b32 [%p0], %r3;", None),
    ("shl.b32 %r3, %r4, %u; st.global.b32 [%p0], %r3;", None),
    ("shf.l.wrap.b32 %r3, %r2, %r1, 16; st.global.b32 [%p0], %r3;", 0xABCDABCD),
    ("bfe.s32 %r3, %r1, 8, 8; st.global.b32 [%p0], %r3;", 0xFFFFFFAB),
    ("bfe.s32 %r3, %r1, 8, 9; st.global.b32 [%p0], %r3;", None),
    ("selp.b32 %r3, %r1, %r1, %q; st.global.b16 [%p0], %r3;", 0xABCD),
    ("selp.b32 %r3, %r1, %r4, %q; st.global.b16 [%p0], %r3;", None),
    ("add.s32 %r3, %r1, %r1; st.global.b16 [%p0], %r3;", 0x579A),
    ("add.s32 %r3, %r2, %r2; shr.u32 %r3, %r3, 16; st.global.b32 [%p0], %r3;", None),
    ("mul.lo.s32 %r3, %r1, 3; st.global.b16 [%p0], %r3;", 0x0367),
    ("mul.hi.u32 %r3, %r1, 3; st.global.b16 [%p0], %r3;", None),
    ("max.s16x2 %r3, %r1, %r4; st.global.b16 [%p0], %r3;", 1),
    ("add.f16x2 %r3, %r1, %r1; st.global.b16 [%p0], %r3;", 0xAFCD),
    ("max.s32 %r3, %r1, %r4; st.global.b16 [%p0], %r3;", None),
    ("shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; st.global.b16 [%p0], %r3;", 0xABCD),
    ("shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; st.global.b32 [%p0], %r3;", None),
    ("st.shared.b32 [smem], %r1; ld.shared.b32 %r3, [smem]; st.global.b16 [%p0], %r3;",
     0xABCD),
    ("st.shared.b32 [smem], %r1; ld.shared.b16 %h0, [smem+2]; st.global.b16 [%p0], %h0;",
     None),
]  # fmt: skip


@pytest.mark.parametrize("body,want", PARTS, ids=[row[0] for row in PARTS])
def test_parts_of_registers_that_nobody_wrote(body: str, want: int | None) -> None:
    """LLVM computes in words of which it needs a part."""
    before = """.reg .b16 %h<2>; .reg .b32 %r<5>, %u; .reg .b64 %rd<3>; .reg .f32 %f;
        .reg .pred %q; mov.b16 %h0, 0xabcd; mov.b32 %r4, 1;
        mov.b32 %r1, {%h0, %h1}; mov.b32 %r2, {%h1, %h0}; cvt.u64.u32 %rd1, %r1;"""
    text = kernel(before + body, 1)
    if want is None:
        with pytest.raises(Fault, match="never written"):
            launch(text, np.zeros(1, np.uint64), shared=16)
    else:
        (got,) = launch(text, np.zeros(1, np.uint64), shared=16)
        assert got[0] == want


SOME = ".reg .pred %q; setp.lt.u32 %q, %t, 9;"
FAULTS = [
    ("ld.global.b64 %at0, [%p0+4];", "misaligned: a load of 8 bytes"),
    ("ld.global.b32 %t, [%p0+4096];", "where no registered memory is"),
    ("st.shared.b32 [smem+16], %t;", "at offset 16 of shared memory, which has 16"),
    ("ld.shared.b32 %t, [smem]; st.global.b32 [%p0], %t;", "never written"),
    (".reg .b32 %u; st.global.b32 [%p0], %u;", "never written"),
    (".reg .pred %q; @%q bra L; L:", "the predicate was never written"),
    (f"{SOME} @%q bra L; bar.sync 0; bra M; L: bar.sync 0; M:", "has diverged"),
    (f"{SOME} @%q shfl.sync.idx.b32 %t, %t, 0, 31, -1;", "reached by 9 of the warp's 32"),
    ("bar.sync 0, 96;", "barrier reached by 64 of 96 threads"),
    ("trap;", "trap"),
]  # fmt: skip


@pytest.mark.parametrize("body,text", FAULTS, ids=[row[1] for row in FAULTS])
def test_what_ends_a_launch(body: str, text: str) -> None:
    with pytest.raises(Fault, match=f"{text}.* at line [0-9]+ of the PTX, in k"):
        launch(kernel(body, 1), np.zeros(32, np.uint32), block=64, shared=16)


UNKNOWN = [
    ("frobnicate.b32 %t, %t;", "frobnicate.b32: this instruction is not simulated"),
    ("add.rn.s32 %t, %t, 1;", r"\.rn is not simulated"),
    ("add.s64 %t, %t, 1;", "%t has 32 bits, the result 64"),
    ("add.s32 %t, %nowhere, 1;", "%nowhere is not a register"),
    ("bra NOWHERE;", "there is no label NOWHERE"),
    ("ld.global.b32 %t, %p0;", "operand 2 is no address"),
    ("mov.b32 %tid.x, 1;", r"%tid.x cannot be written"),
    ("tcgen05.wait::ld.sync.aligned;", "tcgen05.* is not simulated"),
]  # fmt: skip


@pytest.mark.parametrize("body,text", UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_what_is_refused_at_load(body: str, text: str) -> None:
    with pytest.raises(Fault, match=f"ptxsim: line [0-9]+: .*{text}"):
        launch(kernel(body, 1), np.zeros(32, np.uint32))
