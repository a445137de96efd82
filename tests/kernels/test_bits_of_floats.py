"""The low bits of floats, stored: of fewer bits than the float has."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

# A float, the integer of its bits, what is kept of them.
CUTS = [
    ("float32", "int32", "int16"),
    ("float32", "int32", "int8"),
    ("float64", "int64", "int32"),
    ("float64", "int64", "int8"),
    ("float16", "int16", "int8"),
]
SHORT = {"int8": "i8", "int16": "i16", "int32": "i32", "float16": "fp16"}
SHORT |= {"float32": "fp32", "float64": "fp64"}


@tegula.jit
def low_bits(x_ptr, y_ptr, n, WIDE: tl.constexpr, LOW: tl.constexpr):
    i = tl.arange(0, 128)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, (x + x).to(WIDE, bitcast=True).to(LOW))
    tl.store(y_ptr + 128 + i, ((x + 1).to(WIDE, bitcast=True) ^ 255).to(LOW))
    tl.store(y_ptr + 256 + i, (x + 2).to(WIDE, bitcast=True).to(LOW), mask=i < n)


@pytest.mark.parametrize(("floats", "wide", "low"), CUTS)
def test_low_bits(device: Any, rng: Any, floats: str, wide: str, low: str) -> None:
    x = rng.standard_normal(128).astype(floats)
    y = device.poison(384, low)
    low_bits[(1,)](device.put(x), y, 128, getattr(tl, wide), getattr(tl, low))
    kept = np.array([x + x, x + 1, x + 2], floats).view(wide)
    kept[1] ^= 255
    np.testing.assert_array_equal(device.get(y), kept.astype(low).ravel())


@pytest.mark.parametrize(("floats", "wide", "low"), CUTS)
def test_no_float_is_cut(floats: str, wide: str, low: str) -> None:
    """ptxas 13.0 stores the number as an integer then."""
    signature = (f"*{SHORT[floats]}", f"*{SHORT[low]}", "i32")
    types = {"WIDE": getattr(tl, wide), "LOW": getattr(tl, low)}
    code = low_bits.compile(*signature, target="cuda:sm_90a", **types).asm["ptx"]
    stored = re.findall(r"st\.global\S*\.b(\d+) \s*\[.*?\], (%(?:rs|rd|r)\d+);", code)
    assert stored
    for bits, register in stored:
        made = re.findall(rf"^\s*(\S+) \s*{register},", code, re.M)
        width = {"%rs": 16, "%rd": 64}.get(register[:3], 32)
        assert int(bits) == width or not re.search(r"\.b?f\d+(?![\dx])", " ".join(made))
