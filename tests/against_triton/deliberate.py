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
    return "int64" in v[0] and bool(
        np.all((v[1] << np.array(1, v[1].dtype) == 0) & (v[2] == 0))
    )


MEANT: list[tuple[str, str, Callable[[Values], bool], str]] = [
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
        r"",
        "value",
        zeros,
        "-0.0 and -x of 0.0 are -0.0: 3.7 negates, 3.6 subtracts from 0 and takes the "
        "literal -0.0 for 0",
    ),
]


def reason(name: str, kind: str, differing: list[Values]) -> str:
    """Why, or "" where a difference is not meant."""
    for pattern, of, fits, why in MEANT:
        if kind == of and re.search(pattern, name) and all(map(fits, differing)):
            return why
    return ""
