"""Instructions on numbers narrower than their register, and random rounding, beside
NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from simulated import Fault, available, elementwise
from test_ptxsim_instructions import clamped, integers, wide

pytestmark = pytest.mark.skipif(not available(), reason="no build/libptxsim.so")

WORD = 2**32 - 1


def low24(x: int) -> int:
    return (x & 0xFFFFFF ^ 0x800000) - 0x800000


def nth_set(x: int, at: int, n: int) -> int:
    """The n-th of the bits that are set, from `at` on."""
    if at > 31:
        return WORD
    if n == 0:
        return at if x >> at & 1 else WORD
    places = range(at, 32) if n > 0 else range(at, -1, -1)
    found = [k for k in places if x >> k & 1]
    return found[abs(n) - 1] if len(found) >= abs(n) else WORD


ROWS = [
    ("mul24.lo.u32", "u32 u32", lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF)),
    ("mul24.hi.u32", "u32 u32", lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF) >> 16),
    ("mul24.lo.s32", "s32 s32", lambda x, y: low24(x) * low24(y)),
    ("mul24.hi.s32", "s32 s32", lambda x, y: low24(x) * low24(y) >> 16),
    ("mad24.lo.s32", "s32 s32 s32", lambda x, y, z: low24(x) * low24(y) + z),
    ("mad24.hi.s32", "s32 s32 s32", lambda x, y, z: (low24(x) * low24(y) >> 16) + z),
    ("mad24.lo.u32", "u32 u32 u32",
     lambda x, y, z: (x & 0xFFFFFF) * (y & 0xFFFFFF) + z),
    ("mad24.hi.u32", "u32 u32 u32",
     lambda x, y, z: ((x & 0xFFFFFF) * (y & 0xFFFFFF) >> 16) + z),
    ("mad24.hi.sat.s32", "s32 s32 s32",
     lambda x, y, z: clamped((low24(x) * low24(y) >> 16) + z)),
    ("min.relu.s32", "s32 s32", lambda x, y: max(min(x, y), 0)),
    ("max.relu.s32", "s32 s32", lambda x, y: max(x, y, 0)),
]  # fmt: skip


@pytest.mark.parametrize("op,types,want", ROWS, ids=[row[0] for row in ROWS])
def test_words(op: str, types: str, want: Callable) -> None:
    names = tuple(types.split())
    args = [integers(op, t, str(k)) for k, t in enumerate(names)]
    text = f"{op} %d, {', '.join('%' + c for c in 'abc'[: len(args)])};"
    got = elementwise(text, "b32", names, *args)
    np.testing.assert_array_equal(got, wide(want)(*args).astype(np.uint32))


@pytest.mark.parametrize("kind", "us")
@pytest.mark.parametrize("op", ("add", "min", "max", "min.relu", "max.relu"))
def test_pairs(op: str, kind: str) -> None:
    if kind == "u" and "relu" in op:
        return
    halves = np.dtype(f"{'i' if kind == 's' else 'u'}2")
    a, b = integers(op, "u32", kind), integers(op, "u32", kind + "b")
    f = {"add": np.add, "min": np.minimum, "max": np.maximum}[op[:3]]
    want = f(a.view(halves), b.view(halves))
    want = np.maximum(want, 0) if "relu" in op else want
    got = elementwise(f"{op}.{kind}16x2 %d, %a, %b;", "b32", ("b32", "b32"), a, b)
    np.testing.assert_array_equal(got, want.view(np.uint32))
    with pytest.raises(Fault, match="from sm_90 on"):
        elementwise(
            f"{op}.{kind}16x2 %d, %a, %b;", "b32", ("b32", "b32"), a, b, target="sm_80"
        )


def test_nth_set() -> None:
    x = integers("fns", "u32", "x")
    at = np.arange(32, dtype=np.uint32)
    for n in (0, 1, 2, 5, -1, -3, 40, -(2**31)):
        text = f"fns.b32 %d, %a, %b, {n};"
        got = elementwise(text, "b32", ("b32", "b32"), x, at)
        want = wide(lambda v, k, n=n: nth_set(v, k, n))(x, at)
        np.testing.assert_array_equal(got, want.astype(np.uint32))


@pytest.mark.parametrize("t", ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"))
def test_pack(t: str) -> None:
    bits = int(t[1:])
    low = -(2 ** (bits - 1)) if t[0] == "s" else 0
    high = low + 2**bits - 1

    def want(x: int, y: int, z: int) -> int:
        a, b = (min(max(v, low), high) & (2**bits - 1) for v in (x, y))
        return a << bits | b | (z << 2 * bits if bits < 16 else 0)

    x, y = integers("pack", "s32", "x"), integers("pack", "s32", "y")
    x[::2] //= 2**27  # some that fit
    y[::3] //= 2**27
    z = integers("pack", "u32", "z")
    form = f"cvt.pack.sat.{t}.s32" + (
        ".b32 %d, %a, %b, %c;" if bits < 16 else " %d, %a, %b;"
    )
    got = elementwise(form, "b32", ("b32", "b32", "b32"), x, y, z)
    np.testing.assert_array_equal(got, wide(want)(x, y, z).astype(np.uint32))


@pytest.mark.parametrize("negated", ("", "!"))
@pytest.mark.parametrize("op", ("and", "or"))
def test_truth_of_lop3(op: str, negated: str) -> None:
    a, b = integers("truth", "u32", "a"), integers("truth", "u32", "b")
    a[::3] = b[::3]
    q = (np.arange(32) % 2).astype(np.uint8)
    f = np.logical_and if op == "and" else np.logical_or
    want = f(a ^ b != 0, q ^ (negated == "!"))
    for d in ("_", "%x"):
        text = f".reg .b32 %x; lop3.{op}.b32 {d}|%d, %a, %b, 0, 0x3c, {negated}%c;"
        got = elementwise(text, "pred", ("b32", "b32", "pred"), a, b, q)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("nan", ("", ".NaN"))
@pytest.mark.parametrize("op", ("min", "max"))
def test_sizes_with_a_sign(op: str, nan: str) -> None:
    values = np.array([0, -0.0, 1.5, -2, 7, -np.inf, np.nan, 6e-8], np.float16)
    x, y = np.repeat(values, 4), np.tile(values, 4)
    f = {"min": np.fmin, "max": np.fmax}[op] if not nan else {
        "min": np.minimum, "max": np.maximum}[op]  # fmt: skip
    size = f(np.abs(x), np.abs(y))
    want = np.where(np.signbit(x) ^ np.signbit(y), -size, size)
    got = elementwise(
        f"{op}{nan}.xorsign.abs.f16 %d, %a, %b;", "f16", ("f16", "f16"), x, y
    )
    is_nan = np.isnan(want)
    assert (got[is_nan] == 0x7FFF).all()
    np.testing.assert_array_equal(got[~is_nan], want.view(np.uint16)[~is_nan])


def test_flushed_signs() -> None:
    x = np.tile(np.array([1e-40, -1e-40, 2, -2, 0, -0.0, np.inf, 1e-38], "f4"), 4)
    tiny = np.abs(x) < np.finfo(np.float32).tiny
    flushed = np.where(tiny, np.copysign(np.float32(0), x), x).astype(np.float32)
    got = elementwise("neg.ftz.f32 %d, %a;", "f32", ("f32",), x)
    np.testing.assert_array_equal(got, (-flushed).view(np.uint32))
    got = elementwise("abs.ftz.f32 %d, %a;", "f32", ("f32",), x)
    np.testing.assert_array_equal(got, np.abs(flushed).view(np.uint32))


def test_truth_as_a_half() -> None:
    x = np.arange(32, dtype=np.float32)
    for t, one in (("f16", 0x3C00), ("bf16", 0x3F80)):
        got = elementwise(f"set.lt.{t}.f32 %d, %a, 0f41200000;", t, ("f32",), x)
        np.testing.assert_array_equal(got, np.where(x < 10, one, 0))


def test_lanes_of_a_warp_as_a_number() -> None:
    x = np.arange(32, dtype=np.uint32)
    got = elementwise("mul.lo.u32 %d, %a, WARP_SZ;", "b32", ("b32",), x)
    np.testing.assert_array_equal(got, 32 * x)


# --- random rounding -----------------------------------------------------------------
def reversed16(x: np.ndarray) -> np.ndarray:
    return np.array([int(f"{v:016b}"[::-1], 2) for v in x.tolist()], np.int64)


def grid(exponent: int, mantissa: int, most: float) -> np.ndarray:
    """All numbers of a format, from 0 on; behind the largest what would follow it."""
    bias = 2 ** (exponent - 1) - 1
    codes = np.arange(2 ** (exponent + mantissa) + 1)
    e, m = codes >> mantissa, codes & (2**mantissa - 1)
    normal = (1 + m / 2**mantissa) * 2.0 ** (e - bias)
    numbers = np.where(e == 0, m / 2**mantissa * 2.0 ** (1 - bias), normal)
    return numbers[: np.searchsorted(numbers, most) + 2]


def rounded(x: np.ndarray, r: np.ndarray, n: int, numbers: np.ndarray) -> np.ndarray:
    """Codes without sign: up where the share of the gap that x has come, cut to n bits, and
    the n random bits carry."""
    size = np.minimum(np.abs(x.astype(np.float64)), numbers[-1])
    code = np.searchsorted(numbers, size, side="right") - 1
    code = np.minimum(code, len(numbers) - 2)
    gap = numbers[code + 1] - numbers[code]
    come = np.floor((size - numbers[code]) / gap * 2.0**n).astype(np.int64)
    return np.minimum(code + (come + r >= 2**n), len(numbers) - 2)


FOURS = {
    "e4m3": (4, 3, 448.0, 8),
    "e5m2": (5, 2, 57344.0, 8),
    "e3m2": (3, 2, 28.0, 8),
    "e2m3": (2, 3, 7.5, 8),
    "e2m1": (2, 1, 6.0, 4),
}


@pytest.mark.parametrize("relu", ("", ".relu"))
@pytest.mark.parametrize("name", FOURS)
def test_four_rounded_randomly(name: str, relu: str) -> None:
    exponent, mantissa, most, bits = FOURS[name]
    numbers = grid(exponent, mantissa, most)
    rng = np.random.default_rng(7)
    x = (rng.standard_normal(64) * 2.0 ** rng.integers(-12, 10, 64)).astype("f4")
    x[:4] = [0, -1e9, 1e-30, -0.75]
    random = rng.integers(0, 2**32, 32).astype(np.uint32)
    lane = np.arange(32)
    four = [x[(lane + 16 * k) % 64] for k in range(4)]  # the highest first
    pairs = (np.stack(four[:2], 1), np.stack(four[2:], 1))
    got = elementwise(
        ".reg .b32 %x0, %x1, %y0, %y1;"
        "mov.b64 {%x0, %x1}, %a; mov.b64 {%y0, %y1}, %b;"
        f"cvt.rs{relu}.satfinite.{name}x4.f32 %d, {{%x0, %x1, %y0, %y1}}, %c;",
        "b16" if bits == 4 else "b32",
        ("b64", "b64", "b32"),
        *(np.ascontiguousarray(p).view(np.uint64).ravel() for p in pairs),
        random,
        target="sm_100a",
    )
    r = random.astype(np.int64)
    if bits == 4:
        halves = [(r >> s + 16 & 255) << 8 | (r >> s & 255) for s in (8, 0)]
    else:
        halves = [r >> 16, r & 0xFFFF]
    shares = [reversed16(halves[0]), halves[0], reversed16(halves[1]), halves[1]]
    for k in range(4):
        code = rounded(four[k], shares[k], 16, numbers)
        sign = np.signbit(four[k]) << (5 if name in ("e3m2", "e2m3") else bits - 1)
        want = np.where(four[k] <= 0, 0, code) if relu else code | sign
        byte = got >> (3 - k) * bits & (2**bits - 1)
        np.testing.assert_array_equal(byte, want, err_msg=f"number {k}")


@pytest.mark.parametrize("name", ("f16", "bf16"))
def test_two_rounded_randomly(name: str) -> None:
    exponent, mantissa, n = (5, 10, 13) if name == "f16" else (8, 7, 16)
    rng = np.random.default_rng(8)
    a, b = ((rng.standard_normal(32) * 2.0 ** rng.integers(-10, 10, 32)).astype("f4")
            for _ in "ab")  # fmt: skip
    random = rng.integers(0, 2**32, 32).astype(np.uint32)
    got = elementwise(
        f"cvt.rs.{name}x2.f32 %d, %a, %b, %c;",
        "b32", ("f32", "f32", "b32"), a, b, random, target="sm_100a",
    )  # fmt: skip
    cut = 23 - mantissa
    for x, at in ((a, 16), (b, 0)):
        bits = x.view(np.uint32).astype(np.int64)
        up = (bits & 0x7FFFFFFF) + (random.astype(np.int64) >> at & (2**n - 1))
        code = (up >> cut) - ((127 - (2 ** (exponent - 1) - 1)) << mantissa)
        np.testing.assert_array_equal(got >> at & 0xFFFF, code | bits >> 31 << 15)


def test_random_rounding_is_of_one_architecture() -> None:
    x = np.ones(32, np.float32)
    for target in ("sm_90a", "sm_120a"):
        with pytest.raises(Fault, match="sm_100a"):
            elementwise(
                "cvt.rs.f16x2.f32 %d, %a, %a, 0;", "b32", ("f32",), x, target=target
            )
