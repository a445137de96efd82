"""Differences that are meant.

A row: the cases' names, the kind of difference, what the elements that differ must be like
(theirs, ours, as float64 where they are floats), and why. A row that says too much hides
what it should not: name few cases, and say how they differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

Values = tuple[str, np.ndarray, np.ndarray]  # type, theirs, ours; where they differ


def floats(v: Values) -> bool:
    return "float" in v[0]


def zeros(v: Values) -> bool:
    return floats(v) and bool(np.all((v[1] == 0) & (v[2] == 0)))


def nan_to_int(v: Values) -> bool:
    """cvt's NaN, which is only the top bit of 16 bits or more; of that bytes have none, but
    Triton writes two of them at once, and the second gets it."""
    if "int" not in v[0]:
        return False
    top = v[1] << np.array(1, v[1].dtype) == 0
    return bool(np.all(top & (v[2] == 0)))


def any_of_them(v: Values) -> bool:
    return True


def integers(v: Values) -> bool:
    return not floats(v)


def tiny(v: Values) -> bool:
    """Both are no larger than the least normal float32."""
    if v[0] not in ("float32", "bfloat16"):
        return False
    a, b = (np.abs(x.astype(np.float64)) for x in v[1:])
    return bool(np.all((a <= 2.0**-126) & (b <= 2.0**-126)))


def close_by(
    share: float, of_largest: bool = False, least: float = 0, only: str = "float"
) -> Callable:
    """Off by no more than a share, of each element or of the largest, or by `least`."""

    def fits(v: Values) -> bool:
        if only not in v[0]:
            return False
        a, b = (x.astype(np.float64) for x in v[1:])
        room = share * np.max(np.abs(b[np.isfinite(b)]), initial=0) if of_largest else 0
        return np.allclose(a, b, rtol=share, atol=max(room, least), equal_nan=True)

    return fits


Row = tuple[str, str, Callable[[Values], bool], str]
MEANT: list[Row] = [
    (
        r"/mod[./]|/rmod\.",
        "value",
        floats,
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
        integers,
        "a float beyond a byte: Triton packs bytes without cutting them, so what is too "
        "large spills into the next; ours are the low half of 16 bits, as int8 is there",
    ),
    (
        r"^cast.literal/|^load.fill/|^load/other.wide|^store.form/(nan|wide)",
        "value",
        integers,
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
        any_of_them,
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
        floats,
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
        integers,
        "NaN among the elements: who wins depends on the order, which is open",
    ),
    (
        r"^dot.side/(64x32x32|128x16x32)/b?float16|^dot.side/16x16x1.sum/",
        "value",
        floats,
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
        integers,
        "a range whose end needs uint32 is walked; 3.6 compares its end as signed",
    ),
    (
        r"^block/.*int1$",
        "type",
        any_of_them,
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
        floats,
        "approximate instructions, of arguments they are not made for",
    ),
]


def reason(
    name: str, kind: str, differing: list[Values], simulated: bool = False
) -> str:
    """Why, or "" where a difference is not meant."""
    for pattern, of, fits, why in MEANT + SIMULATED * simulated:
        if kind == of and re.search(pattern, name) and all(map(fits, differing)):
            return why
    return ""
