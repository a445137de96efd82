"""Types: all pairs of dtypes and all operators against the rules, written again."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

import pytest

import tegula
import tegula.language as tl

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "i1"]
F8 = ["f8e4m3", "f8e5m2", "f8e4b15", "f8e4b8", "f8e5b16"]
FLOATS = [*F8, "f16", "bf16", "f32", "f64"]
SIG = {
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "f8e4m3": "fp8e4nv",
    "f8e5m2": "fp8e5",
    "f8e4b15": "fp8e4b15",
    "f8e4b8": "fp8e4b8",
    "f8e5b16": "fp8e5b16",
}
BITS = {t: int(re.sub(r"e\d[mb]\d+", "", t).lstrip("iufb")) for t in INTS + FLOATS}


def signed(t: str) -> bool:
    return t[0] == "i" and t != "i1"


def promote(a: str, b: str, div: bool) -> str | None:
    """The table of section 2.3, steps 1 to 9; None is a TypeError."""
    pair = {a, b}
    if "f64" in pair:
        return "f64"
    if "f32" in pair:
        return "f32"
    if "f16" in pair:
        return "f32" if div else "f16"
    if pair == {"bf16"}:
        return "f32" if div else "bf16"
    if "bf16" in pair:
        return "f32"
    if a in F8 and b in F8:
        return a if a == b else "f16"
    if a in F8 or b in F8:
        return None
    if div and signed(a) != signed(b):
        return None
    if signed(a) == signed(b):
        return max(pair, key=lambda t: BITS[t])
    u, s = (b, a) if signed(a) else (a, b)
    return u if BITS[u] >= BITS[s] else s


SAY = "tl.static_assert(False, r.dtype)"
STORE = "tl.store(out.to(tl.pointer_type(r.dtype)), tl.max(r) if r.shape else r)"


@functools.cache
def kernel(op: str, last: str) -> Any:
    """A kernel with x op y, and then last; its source is registered as IPython does."""
    import linecache

    name = f"<promotion {op} {last[:8]}>"
    text = (
        "@tegula.jit\n"
        "def kernel(p, q, out, Y: tl.constexpr):\n"
        "    x = tl.load(p)\n"
        "    if Y is None:\n"
        "        y = tl.load(q)\n"
        f"        r = {op}\n"
        "    else:\n"
        "        y: tl.constexpr = Y\n"
        f"        r = {op}\n"
        f"    {last}\n"
    )
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"tegula": tegula, "tl": tl}
    exec(compile(text, name, "exec"), space)
    return space["kernel"]


NAMES = {SIG.get(t, t): t for t in INTS + FLOATS} | {
    ("u" if t[0] == "u" else "") + f"int{BITS[t]}": t for t in INTS
}


def result(op: str, a: str, b: str | None, number: Any = None) -> str | None:
    """The dtype of op, or None when it does not compile."""
    types = ("*" + SIG.get(a, a), "*" + SIG.get(b or a, b or a), "*i8")
    if a in F8 or b in F8:  # some of it is an error where it is used
        try:
            kernel(op, STORE).lower(*types, Y=number)
        except tegula.CompileError as e:
            assert e.code in ("TYPE", "VALUE"), str(e)
            return None
    with pytest.raises(tegula.CompileError) as e:
        kernel(op, SAY).lower(*types, Y=number)
    if e.value.code != "STATIC_ASSERT":
        assert e.value.code in ("TYPE", "VALUE"), str(e.value)
        return None
    return NAMES[e.value.message.rsplit(": ", 1)[1]]


@pytest.mark.parametrize("a,b", list(itertools.product(INTS + FLOATS, repeat=2)))
def test_pair(a: str, b: str) -> None:
    plain, div = promote(a, b, False), promote(a, b, True)
    is_int = plain in INTS
    arith = None if plain in F8 else plain
    assert result("x + y", a, b) == arith
    assert result("x * y", a, b) == arith
    assert result("x - y", a, b) == arith
    assert result("x & y", a, b) == (plain if is_int else None)
    assert result("x << y", a, b) == (plain if is_int else None)
    assert result("x < y", a, b) == (None if plain is None else "i1")
    quotient = None if div in F8 else "f32" if div in INTS else div
    assert result("x / y", a, b) == quotient
    assert result("x % y", a, b) == (None if div in F8 else div)
    assert result("x // y", a, b) == (div if div in INTS else None)
    assert result("tl.where(x == x, x, y)", a, b) == plain
    wide = ["f32" if t == "bf16" else t for t in (a, b)]  # bf16 is widened first
    largest = promote(wide[0], wide[1], False)
    assert result("tl.maximum(x, y)", a, b) == largest


def literal(v: Any) -> str:
    """Section 2.2."""
    if isinstance(v, bool):
        return "i1"
    if isinstance(v, int):
        if -(2**31) <= v < 2**31:
            return "i32"
        if 2**31 <= v < 2**32:
            return "u32"
        return "i64" if v < 2**63 else "u64"
    m = abs(v)
    return "f32" if m == 0 or 2.0**-126 <= m <= 3.4028234663852886e38 else "f64"


def kind(t: Any) -> int:
    if isinstance(t, str):
        return 0 if t == "i1" else 1 if t in INTS else 2
    return 0 if isinstance(t, bool) else 1 if isinstance(t, int) else 2


def fits(v: Any, t: str) -> bool:
    if t in FLOATS or t == "i1":
        return True
    low = -(2 ** (BITS[t] - 1)) if signed(t) else 0
    return low <= v < 2 ** (BITS[t] - signed(t))


NUMBERS = [True, 0, 3, -1, 127, 1000, 70000, 2**31, 2**32, 2**63, 0.5, 1e-40, 1e300]


@pytest.mark.parametrize(
    "t,v", list(itertools.product(INTS + FLOATS, NUMBERS)), ids=str
)
def test_number(t: str, v: Any) -> None:
    typed = literal(v)
    weak = kind(v) <= kind(t)

    def expect(div: bool) -> str | None:
        if not weak:
            return promote(t, typed, div)
        r = "f32" if div and t in ("f16", "bf16") else t
        return r if fits(v, r) else None

    plain, div = expect(False), expect(True)
    plain_op = None if plain in F8 else plain
    for op in ("x + y", "y - x", "x * y"):
        assert result(op, t, None, v) == plain_op
    assert result("x | y", t, None, v) == (plain if plain in INTS else None)
    by_zero = div in INTS and v == 0  # an error: the constant is the user's
    assert result("x % y", t, None, v) == (None if div in F8 or by_zero else div)
    assert result("x / y", t, None, v) == (
        None if div in F8 else "f32" if div in INTS else div
    )
    assert result("tl.where(x == x, x, y)", t, None, v) == plain
    # Here numbers are typed first.
    both = promote(t, typed, False)
    assert result("x >= y", t, None, v) == (None if both is None else "i1")
    assert result("tl.maximum(x, y)", t, None, v) == ("f32" if both == "bf16" else both)


@pytest.mark.parametrize(
    "v", [*NUMBERS, 0.0, float("inf"), float("nan"), 3.4e38], ids=str
)
def test_literal(v: Any) -> None:
    want = "f32" if v != v or v in (float("inf"),) else literal(v)
    assert result("tl.to_tensor(y)", "i8", None, v) == want
    assert result("tl.zeros_like(y)", "i8", None, v) == want


REDUCED = {
    "tl.sum(x)": lambda t: (
        t if t in FLOATS or BITS[t] >= 32 else "i32" if signed(t) else "u32"
    ),
    "tl.max(x)": lambda t: ("f32" if t in FLOATS else "i32") if BITS[t] < 32 else t,
    "tl.max(x, 0, return_indices=True)[0]": lambda t: "f32" if t == "bf16" else t,
    "tl.argmax(x, 0)": lambda t: "i32",
    "tl.cumsum(x)": lambda t: "f32" if t == "bf16" else REDUCED["tl.sum(x)"](t),
    "tl.cumprod(x)": lambda t: "f32" if t == "bf16" else REDUCED["tl.sum(x)"](t),
}


@pytest.mark.parametrize("t", [t for t in INTS + FLOATS if t not in F8])
@pytest.mark.parametrize("op", REDUCED)
def test_reduction(op: str, t: str) -> None:
    assert result(op.replace("(x", "(x[None]"), t, t) == REDUCED[op](t)


@pytest.mark.parametrize(
    "a,acc,out,want",
    [
        ("f16", None, None, "f32"),
        ("f16", None, "tl.float16", "f16"),
        ("f16", "tl.float16", "tl.float16", "f16"),
        ("f16", "tl.float32", "tl.float16", None),
        ("bf16", None, None, "f32"),
        ("bf16", None, "tl.bfloat16", None),
        ("f32", None, None, "f32"),
        ("f64", None, None, "f64"),
        ("i8", None, None, "i32"),
        ("i8", "tl.int32", "tl.int32", "i32"),
        ("i8", "tl.float32", None, None),
        ("u8", None, None, None),
        ("i32", None, None, None),
        ("f8e4m3", None, None, "f32"),
    ],
)
def test_dot(a: str, acc: str | None, out: str | None, want: str | None) -> None:
    more = "" if acc is None else f", acc=tl.zeros((16, 16), {acc})"
    more += "" if out is None else f", out_dtype={out}"
    one = "tl.broadcast_to(x, (16, 16))"
    assert result(f"tl.dot({one}, {one}{more})", a, a) == want


def test_shift_right_follows_the_tensor() -> None:
    @tegula.jit
    def kernel(p, q, out):
        tl.store(out, tl.load(p) >> tl.load(q))

    text = kernel.lower("*i32", "*u32", "*i64")
    assert re.search(r"shr %\d+, %\d+ : i32", text)
    text = kernel.lower("*u32", "*i32", "*i64")
    assert re.search(r"shr .* : u32", text)
