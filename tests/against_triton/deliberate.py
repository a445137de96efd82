"""Differences that are meant.

A row: the cases' names, the kind of difference, what the elements that differ must be like
(theirs, ours, as float64 where they are floats), and why. A row that says too much hides
what it should not: name few cases, and say how they differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from case import Array, Case, Scalar, decode
from element_types import encode, is_float, storage


@dataclass(frozen=True)
class Apart:
    """A result that differs: where, and the values there; of another type, neither."""

    case: Case
    dtype: str  # ours
    at: np.ndarray  # indices into the result
    theirs: np.ndarray
    ours: np.ndarray
    their_dtype: str
    result: np.ndarray  # all of ours

    def given(self, name: str) -> np.ndarray | None:
        """What the argument of that name has there; None: it is not element by element."""
        for a in self.case.args:
            if a.name == name and isinstance(a, Array):
                x = decode(self.case.elements(a), a.dtype)
                return x[self.at] if len(x) == len(self.result) else None
            if a.name == name and isinstance(a, Scalar):
                return np.full(len(self.at), a.value)
        return None

    def ours_are(self, x: np.ndarray) -> bool:
        """These, as they are in memory; any NaN is another."""
        want = decode(encode(x, self.dtype, infinite=True), self.dtype)
        nan = want != want
        same = (want == self.ours) & (np.signbit(want) == np.signbit(self.ours))
        return bool(np.all(same | nan & (self.ours != self.ours)))


def floats(v: Apart) -> bool:
    return is_float(v.dtype)


def zeros(v: Apart) -> bool:
    return floats(v) and bool(np.all((v.theirs == 0) & (v.ours == 0)))


def literal(v: Apart) -> float | None:
    """The number that a case's name says: after a point, between slashes or in full."""
    for word in reversed(v.case.name.split("/")[1:]):
        if word == "nan":
            return np.nan
        m = re.search(
            r"(?:^|[a-z]\.)(float\('(-?\w+)'\)|-?\d[\d.]*(e-?\d+)?|True)$", word
        )
        if m:
            text = m[2] or m[1].replace("True", "1")
            return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    return None


def is_fmod(v: Apart) -> bool:
    """C's fmod of the operands as the result's type has them."""
    if not floats(v):
        return False
    x, y = v.given("a"), v.given("b")
    if y is None:
        y = v.given("s")
    number = literal(v)
    if y is None and number is not None:
        y = np.full(len(v.at), float(number))
    if x is None or y is None:
        return False
    if re.search(r"/r(mod|fmod)\.", v.case.name):
        x, y = y, x
    x, y = (decode(encode(z, v.dtype, True), v.dtype) for z in (x, y))
    with np.errstate(all="ignore"):
        return v.ours_are(np.fmod(x, y))


def nan_to_int(v: Apart) -> bool:
    """cvt's NaN, which is only the top bit of 16 bits or more; of that bytes have none, but
    Triton writes two of them at once, and the second gets it."""
    x = v.given("a")
    if floats(v) or x is None or not np.isnan(x.astype(float)).all():
        return False
    top = v.theirs << np.array(1, v.theirs.dtype) == 0
    return bool(np.all(top & (v.ours == 0)))


def cut(x: np.ndarray, dtype: str) -> np.ndarray:
    """Floats as integers: NaN is 0, then the nearest; bytes are the low half of 16 bits."""
    if dtype == "int1":  # a byte in memory
        return cut(x, "int8") != 0
    wide = dtype.replace("int8", "int16")
    low, high = np.iinfo(wide).min, np.iinfo(wide).max
    whole = [0 if e != e else min(max(e, low), high) for e in x.tolist()]
    return np.array([int(e) for e in whole], wide).astype(dtype)


def is_cut(v: Apart) -> bool:
    """Of an input, of which some of the four that share a register are beyond a byte."""
    a = next((a for a in v.case.args if a.name == "a" and isinstance(a, Array)), None)
    if a is None or floats(v) or v.given("a") is None or not is_float(a.dtype):
        return False
    x = decode(v.case.elements(a), a.dtype).astype(np.float64)
    beyond = ~((x > -129) & (x < 256))
    group = beyond.reshape(-1, 4).any(axis=1).repeat(4)
    return bool(group[v.at].all()) and np.array_equal(v.ours, cut(x[v.at], v.dtype))


def is_literal(v: Apart) -> bool:
    """Ours are the literal as a conversion at run time has it; theirs are anything."""
    if floats(v):
        return False
    x = literal(v)
    if x is None:
        return False
    limit = 2.0 ** (8 * storage(v.dtype).itemsize - (v.dtype[0] == "i"))
    if -limit * (v.dtype[0] == "i") <= x < limit and v.dtype != "int1":
        return False  # it is not beyond
    whole = isinstance(x, int)
    want = np.array(x & 2**64 - 1, np.uint64) if whole else cut(np.array([x]), v.dtype)
    return bool(np.all(v.ours == want.astype(storage(v.dtype))))


def has_nan(v: Apart) -> bool:
    """Indices along an axis on which there is a NaN."""
    axis = re.search(r"\.(\d)\.(-?\d)/", v.case.name)
    a = v.case.args[0]
    if not axis or not isinstance(a, Array) or v.dtype != "int32":
        return False
    x = decode(v.case.elements(a), a.dtype)
    x = x if axis[1] == "4" else x.reshape(8, 32)
    nan = np.isnan(x).any(axis=int(axis[2])).reshape(-1)[v.at]
    side = x.shape[int(axis[2])]
    inside = [(z >= 0) & (z < side) for z in (v.theirs, v.ours)]
    return bool(np.all(nan & inside[0] & inside[1]))


def equal_elements(v: Apart) -> bool:
    """Indices of elements that are the same."""
    axis = re.search(r"(?:right\.|/(?:ties\.)?)(-?\d)[./]", v.case.name)
    a = v.case.args[0]
    if not axis or not isinstance(a, Array) or v.dtype != "int32":
        return False
    x = decode(v.case.elements(a), a.dtype)
    shape = re.search(r"/\[([\d, ]+)\]", v.case.name)
    if shape:
        sides = [int(side) for side in shape[1].split(",")]
        x = x[: int(np.prod(sides))].reshape(sides)
    elif axis[1] == "1":
        x = x.reshape(16, 16)
    rows = np.moveaxis(x, int(axis[1]), -1).reshape(-1, x.shape[int(axis[1])])[v.at]
    picked = (rows[np.arange(len(rows)), i] for i in (v.theirs, v.ours))
    return bool(np.equal(*picked).all())


def nearest_in_bfloat16(v: Apart) -> bool:
    """With 2**-133, of the 1e-40 of the case, instead of 0."""
    near = float(decode(encode(np.array(1e-40), "bfloat16"), "bfloat16"))
    x = v.given("a")
    x = np.zeros(len(v.at)) if x is None else x.astype(np.float64)
    name = v.case.name
    with np.errstate(all="ignore"):
        if "where" in name or "full" in name or "put" in name or "cast" in name:
            want = np.full(len(v.at), near)
        elif "mul" in name:
            want = x * near
        elif "rdiv" in name or "rsub" in name:
            want = near / x if "div" in name else near - x
        elif "div" in name or "sub" in name:
            want = x / near if "div" in name else x - near
        else:
            want = x + near
    return v.ours_are(want)


def is_product(v: Apart) -> bool:
    """NumPy's product of the inputs, where it is a product that differs."""
    sides = re.search(r"/(\d+)x(\d+)x(\d+)[./]", v.case.name)
    if not sides or len(v.case.args) < 2:
        return False
    m, n, k = (int(side) for side in sides.groups())
    x, y = (
        decode(v.case.elements(a), a.dtype)[:size].astype(np.float64)
        for a, size in zip(v.case.args, (m * k, k * n), strict=False)
        if isinstance(a, Array)
    )
    want = x.reshape(m, k) @ y.reshape(k, n)
    return np.array_equal(v.ours, want.reshape(-1)[v.at])


def walks_all(v: Apart) -> bool:
    """The sum over the whole range, 64 bits wide."""
    x = v.given("a")
    walked = range(2147483646, 2147483650)
    return x is not None and np.array_equal(v.ours, x.astype(np.int64) + sum(walked))


def infinities_stay(v: Apart) -> bool:
    x = v.given("a")
    return x is not None and not np.isfinite(x).any() and v.ours_are(x)


def int1_for_int8(v: Apart) -> bool:
    return (v.their_dtype, v.dtype) == ("int8", "int1")


def tiny(v: Apart) -> bool:
    """Both are no larger than the least normal float32."""
    if v.dtype not in ("float32", "bfloat16"):
        return False
    a, b = (np.abs(x.astype(np.float64)) for x in (v.theirs, v.ours))
    return bool(np.all((a <= 2.0**-126) & (b <= 2.0**-126)))


def close_by(
    share: float, of_largest: bool = False, least: float = 0, only: str = "float"
) -> Callable:
    """Off by no more than a share, of each element or of the largest, or by `least`."""

    def fits(v: Apart) -> bool:
        if only not in v.dtype:
            return False
        a, b = (x.astype(np.float64) for x in (v.theirs, v.ours))
        room = share * np.max(np.abs(b[np.isfinite(b)]), initial=0) if of_largest else 0
        return np.allclose(a, b, rtol=share, atol=max(room, least), equal_nan=True)

    return fits


Row = tuple[str, str, Callable[[Apart], bool], str]
MEANT: list[Row] = [
    (
        r"/mod[./]|/rmod\.",
        "value",
        is_fmod,
        "% of floats is C's fmod, exact; Triton's is x - trunc(x / y) * y",
    ),
    (
        r"^cast|^store/",
        "value",
        nan_to_int,
        "NaN is 0 as an integer of any width; cvt's 64-bit ones are the least there is",
    ),
    (
        r"^(cast|store)[./].*/uint8$|^store/.*/int1$|^store.form/wide/u?int[18]$",
        "value",
        is_cut,
        "a float beyond a byte: Triton packs bytes without cutting them, so what is too "
        "large spills into the next; ours are the low half of 16 bits, as int8 is there",
    ),
    (
        r"^cast.literal/|^load.fill/|^load/other.wide|^store.form/(nan|wide)",
        "value",
        is_literal,
        "a literal beyond an integer type is poison in Triton: whatever a register held",
    ),
    (
        r"^function/fdiv.rn/",
        "value",
        close_by(2e-7),
        "fdiv(ieee_rounding=True) is IEEE's quotient, as in 3.7; 3.6 does not look at it",
    ),
    (
        r"/bfloat16/.*1e-40",
        "value",
        nearest_in_bfloat16,
        "a literal below 2**-126 as bfloat16 is the nearest there is; Triton's is 0",
    ),
    (
        r"^(libdevice|math\.)",
        "value",
        tiny,
        "float32 below 2**-126 counts; Triton links libdevice so that it is flushed to 0",
    ),
    (
        r"^libdevice[.].*/(j0|j1|y0|y1)/",
        "value",
        close_by(1e-11, least=1e-6),
        "Bessel functions near their zeros and of huge arguments, where ours are closer",
    ),
    (
        r"^libdevice.*/sqrt/float32|^libdevice.*/rcp64h/",
        "value",
        close_by(2e-6, least=2.3e-308),
        "IEEE's root and the top half of the exact reciprocal; Triton's are approximations",
    ),
    (
        r"/float8e5/bfloat16$",
        "value",
        infinities_stay,
        "float8e5's infinities and NaN keep being that; 3.6 counts on past the largest",
    ),
    (
        r"^reduce.dtype/cumsum/.*bfloat16$",
        "value",
        close_by(0.02),
        "sums that round: the order of a scan is open",
    ),
    (
        r"^reduce/arg(max|min).any",
        "value",
        has_nan,
        "NaN among the elements: who wins depends on the order, which is open",
    ),
    (
        r"^rank/argmax.right|^ties/(arg)?(max|min).False/",
        "value",
        equal_elements,
        "tie_break_left=False: which of equal elements is open",
    ),
    (
        r"^dot.side/(64x32x32|128x16x32)/b?float16|^dot.side/16x16x1.sum/",
        "value",
        is_product,
        "wrong there, beside NumPy: products of this shape, a sum over a side of 1",
    ),
    (
        r"^dot_scaled/",
        "value",
        close_by(1e-6, of_largest=True),
        "sums that round: the order within a product is open",
    ),
    (
        r"^control/index64/",
        "value",
        walks_all,
        "a range whose end needs uint32 is walked; 3.6 compares its end as signed",
    ),
    (
        r"^block/.*int1$",
        "type",
        int1_for_int8,
        "a block pointer to int1 loads int1, as in 3.7",
    ),
    (
        r"",
        "value",
        zeros,
        "-0.0 and -x of 0.0 are -0.0: 3.7 negates, 3.6 subtracts from 0 and takes the "
        "literal -0.0 for 0",
    ),
]


def approximate(v: Apart) -> bool:
    """sin.approx and cos.approx: off by a share of the argument. Beyond 1 the quotient of
    both, fast_tanf, may be off by anything."""
    x = v.given("a")
    if x is None:
        return False
    x = np.abs(x.astype(np.float64))
    apart = np.abs(v.theirs.astype(np.float64) - v.ours.astype(np.float64))
    is_tan = "tan" in v.case.name
    return bool(np.all((apart <= 1e-6 * np.maximum(x, 1)) | (is_tan & (x > 1))))


# Where Tegula's answers are of the simulated GPU, and Triton's of a real one.
SIMULATED: list[Row] = [
    (
        r"[./](div|rdiv|fdiv|sigmoid|softmax|exp2?|log2?|sin|cos|r?sqrt|fast_\w+)[./]",
        "value",
        close_by(3e-7, least=3e-45, only="float32"),
        "approximate instructions, which the simulated GPU rounds correctly",
    ),
    (
        r"^libdevice\.normal/fast_(sin|cos|tan)f/",
        "value",
        approximate,
        "approximate instructions, of arguments they are not made for",
    ),
]


def reason(
    name: str, kind: str, differing: list[Apart], simulated: bool = False
) -> str:
    """Why, or "" where a difference is not meant."""
    for pattern, of, fits, why in MEANT + SIMULATED * simulated:
        if kind == of and re.search(pattern, name) and all(map(fits, differing)):
            return why
    return ""
