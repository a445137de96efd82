"""A sample of the comparison where Triton is installed; how it compares, everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import compare
import deliberate
import source
from case import Array, Case, elements, encode
from half import pack

HERE = Path(__file__).parent


def answer(x: np.ndarray, dtype: str = "float32") -> dict:
    return {"name": "c", "status": "ok", "slots": [[dtype, [len(x)], pack(x)]]}


CASE = Case("c", (), "")
A = np.array([1.0, np.nan, 0.0], np.float32)


def test_equal_is_bits_or_nan() -> None:
    other = A.copy()
    other.view(np.uint32)[1] = 0xFFC00001
    assert compare.verdict(CASE, answer(A), answer(other)) == ""
    other[2] = -0.0
    assert compare.verdict(CASE, answer(A), answer(other)) == "value"


def test_type_and_refusal() -> None:
    refused = {"name": "c", "status": "refused", "why": "no"}
    assert compare.verdict(CASE, answer(A), answer(A.view(np.int32), "int32")) == "type"
    assert compare.verdict(CASE, answer(A), refused) == "we refuse"
    assert compare.verdict(CASE, refused, answer(A)) == "they refuse"
    assert compare.verdict(CASE, refused, refused) == ""


def test_last_places() -> None:
    near = np.nextafter(A, np.float32(2))
    assert compare.verdict(Case("c", (), "", ulp=1), answer(A), answer(near)) == ""
    assert compare.verdict(CASE, answer(A), answer(near)) == "value"


def test_inputs_are_the_same_every_time() -> None:
    a = Array("a", "bfloat16", "all", 512)
    assert np.array_equal(elements(a), elements(a))
    assert encode(np.array([1.0, -2.0]), "bfloat16").tolist() == [0x3F80, 0xC000]


def meant(
    name: str, body: str, a: Array, theirs: np.ndarray, ours: np.ndarray, dtype: str
) -> str:
    case = Case(name, (a,), body)
    t, o = answer(theirs, dtype), answer(ours, dtype)
    kind = compare.verdict(case, t, o)
    return deliberate.reason(name, kind, compare.apart(case, kind, t, o))


def test_what_is_meant_says_which_bits() -> None:
    a = Array("a", "float32", "edge")
    x = elements(a)
    with np.errstate(all="ignore"):
        right = np.fmod(x, np.float32(0.5))
        theirs = x - np.trunc(x / np.float32(0.5)) * np.float32(0.5)
    other = np.where(right == 0, np.float32(0.25), right)
    case = ("literal/float32/mod.0.5", "put(x % 0.5)", a)
    assert meant(*case, theirs, right, "float32")
    assert not meant(*case, theirs, other, "float32")
    wide = np.where(np.isnan(x), np.iinfo(np.int64).min, 7)
    assert meant("cast.odd/float32/int64", "", a, wide, wide * ~np.isnan(x), "int64")
    assert not meant("cast.odd/float32/int64", "", a, wide, wide + 1, "int64")


def test_identity_is_of_what_is_asked() -> None:
    a = Array("a", "float32", "edge")
    case = Case("c", (a,), "put(tl.load(a + I))")
    other = Case("c", (a,), "put(tl.load(a + I) + 1)")
    assert source.identity(case) == source.identity(Case("c", (a,), case.body))
    assert source.identity(case) != source.identity(other)
    assert source.identity(case) != source.identity(
        Case("c", (Array("a", "float32", "all"),), case.body)
    )


@pytest.mark.slow
def test_sample(tmp_path: Path) -> None:
    pytest.importorskip("triton._C.libtriton")
    run = [
        sys.executable,
        str(HERE / "run.py"),
        "--out",
        str(tmp_path),
        "--part",
        "3/200",
    ]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
