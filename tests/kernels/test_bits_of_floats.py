"""Bits of floats: the low ones stored, of 16 bits some masked, and one half of a word."""

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


@tegula.jit
def masked(x_ptr, y_ptr, TO: tl.constexpr, MASK: tl.constexpr):
    i = tl.arange(0, 512)
    x = tl.load(x_ptr + i)
    bits = (x * 3).to(TO).to(tl.int16, bitcast=True)
    tl.store(y_ptr + i, bits.to(tl.uint8).to(tl.int16) if MASK == 255 else bits & MASK)


@pytest.mark.parametrize("mask", [255, 0x1FF, 0x7FFF, 0xFF00 - 0x10000])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_masks_of_halves(device: Any, rng: Any, to: str, mask: int) -> None:
    x = rng.standard_normal(512).astype(np.float32)
    y = device.poison(512, "int16")
    masked[(1,)](device.put(x), y, getattr(tl, to), mask)
    if to == "float16":
        bits = (x * 3).astype(to).view("int16")
    else:
        word = (x * np.float32(3)).view("uint32")
        bits = ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype("uint16").view("int16")
    np.testing.assert_array_equal(device.get(y), bits & np.int16(mask))


@pytest.mark.parametrize("mask", [255, 0x1FF])
@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_no_mask_is_lost(to: str, mask: int) -> None:
    """Where two floats are stored as a pair, ptxas 13.0 masks the second alone."""
    types = {"TO": getattr(tl, to), "MASK": mask}
    code = masked.compile("*fp32:16", "*i16:16", target="cuda:sm_90a", **types)
    ptx = code.asm["ptx"]
    made = set(re.findall(r"cvt\.rn\.b?f16\.f32 \s*(%rs\d+)", ptx))
    ands = re.findall(r"and\.b(?:16|32) \s*%r?s?\d+, (%r?s?\d+), (?:511|255)", ptx)
    assert made and ands and not made & set(ands)
    assert ptx.count("0x4410") + ptx.count("17424") >= len(made)


@tegula.jit
def chosen_halves(x_ptr, k_ptr, y_ptr):
    i = tl.arange(0, 256)
    x, k = tl.load(x_ptr + i), tl.load(k_ptr + i)
    tl.store(y_ptr + i, tl.where(k > 0, k.to(x.dtype), x) * x)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_chosen_halves(device: Any, rng: Any, dtype: str) -> None:
    x = rng.integers(-8, 8, 256).astype(dtype)
    k = rng.integers(-8, 8, 256).astype(np.int32)
    y = device.poison(256, dtype)
    chosen_halves[(1,)](device.put(x), device.put(k), y)
    want = np.where(k > 0, k.astype(dtype), x) * x
    np.testing.assert_array_equal(device.get(y), want)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_each_half_is_selected(dtype: str) -> None:
    """The lower half may be changed in place, and ptxas 13.0 then takes it for both."""
    types = (f"*{dtype}:16", "*i32:16", f"*{dtype}:16")
    ptx = chosen_halves.compile(*types, target="cuda:sm_90a").asm["ptx"]
    assert ptx.count("shr.u32") >= 1 and "{_," not in ptx.replace(" ", "")


@tegula.jit
def scaled(x_ptr, s_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    s = tl.sqrt(tl.load(s_ptr + i).to(tl.float32)).to(tl.float16)
    tl.store(y_ptr + i, s * (tl.load(x_ptr + i).to(tl.int64) << 24).to(tl.float16))


def test_integers_beyond_a_half(device: Any) -> None:
    """They are infinite, also where LLVM 22 would convert them to float32 at once."""
    x = np.arange(64, dtype=np.uint8)
    y = device.poison(64, np.float16)
    scaled[(1,)](device.put(x), device.put(np.zeros(64, np.uint8)), y, 64)
    want = np.where(x > 0, np.float16(np.nan), np.float16(0))
    np.testing.assert_array_equal(device.get(y), want)
