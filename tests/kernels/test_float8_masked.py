"""Products of float8 whose rows a mask takes off, where ptxas sees that they are zero."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

KINDS = ("float8e4nv", "float8e5")


@tegula.jit
def some_rows(a_ptr, b_ptr, c_ptr, ROWS: tl.constexpr, KIND: tl.constexpr):
    m, k, n = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 32)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :], mask=m[:, None] < ROWS, other=0)
    b = tl.load(b_ptr + k[:, None] * 32 + n[None, :])
    c = tl.dot(a.to(KIND, bitcast=True), b.to(KIND, bitcast=True))
    tl.store(c_ptr + m[:, None] * 32 + n[None, :], c)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("warps", (1, 4))
def test_rows_taken_off(device: Any, rng: Any, kind: str, warps: int) -> None:
    one = {"float8e4nv": 0x38, "float8e5": 0x3C}[kind]
    a = (rng.integers(0, 2, (128, 64)) * one).astype(np.uint8)
    b = (rng.integers(0, 2, (64, 32)) * one).astype(np.uint8)
    c = device.poison((128, 32), np.float32)
    some_rows[(1,)](
        device.put(a), device.put(b), c, 16, getattr(tl, kind), num_warps=warps
    )
    want = (a == one).astype(np.float32) @ (b == one).astype(np.float32)
    want[16:] = 0
    np.testing.assert_array_equal(device.get(c), want)


def test_pairs_come_as_words() -> None:
    """Of a word that is 0 ptxas 13.0 converts an 8, if it is the upper half."""
    options = {"ROWS": 16, "KIND": tl.float8e4nv, "num_warps": 4, "hopper": "1"}
    code = some_rows.compile(
        "*u8:16", "*u8:16", "*fp32:16", target="cuda:sm_90a", **options
    ).asm["ptx"]
    n = code.count("cvt.rn.f16x2.e4m3x2")
    assert n and n == code.count("cvt.u16.u32 h, ")
    assert ", 65535;" not in code, "which drops what the conversion does not read"


@tegula.jit
def no_rows(a_ptr, b_ptr, c_ptr, KIND: tl.constexpr):
    m, k, n = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 32)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :], mask=m[:, None] > 15, other=0x38)
    b = tl.load(b_ptr + k[:, None] * 32 + n[None, :])
    c = tl.dot(a.to(KIND, bitcast=True), b.to(KIND, bitcast=True))
    tl.store(c_ptr + m[:, None] * 32 + n[None, :], c)


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_loaded(device: Any, rng: Any, kind: str) -> None:
    one, a = {"float8e4nv": (0x38, 1.0), "float8e5": (0x3C, 0.5)}[kind]
    b = (rng.integers(0, 2, (64, 32)) * one).astype(np.uint8)
    c = device.poison((16, 32), np.float32)
    no_rows[(1,)](device.put(b), device.put(b), c, getattr(tl, kind), num_warps=1)
    want = np.full((16, 64), a, np.float32) @ (b == one).astype(np.float32)
    np.testing.assert_array_equal(device.get(c), want)


@pytest.mark.parametrize("kind", KINDS)
def test_no_constant_operands(kind: str) -> None:
    """A chip without mma.sync of float8 gets it as conversions, with the same fault."""
    code = no_rows.compile(
        "*u8:16", "*u8:16", "*fp32:16", target="cuda:sm_89", KIND=getattr(tl, kind)
    ).asm["ptx"]
    constants = set(re.findall(r"mov\.b32 \s*(%r\d+), \d+;", code))
    products = re.findall(r"mma\.sync\.\S+\.e[45]m[32]\.f32 (.*);", code)
    assert products and constants
    for operands in products:
        a, b = re.findall(r"\{(.*?)\}", operands)[1:3]
        assert not constants & set(f"{a}, {b}".split(", "))


@tegula.jit
def some_columns(a_ptr, b_ptr, c_ptr, N: tl.constexpr, KIND: tl.constexpr):
    m, k, n = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 64)
    a = tl.load(a_ptr + m[:, None] * 32 + k[None, :])
    b = tl.load(b_ptr + n[:, None] * 32 + k[None, :], mask=n[:, None] < N, other=0)
    c = tl.dot(a.to(KIND, bitcast=True), tl.trans(b.to(KIND, bitcast=True)))
    tl.store(c_ptr + m[:, None] * 64 + n[None, :], c)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("warps", (1, 2))
def test_columns_taken_off(device: Any, rng: Any, kind: str, warps: int) -> None:
    one = {"float8e4nv": 0x38, "float8e5": 0x3C}[kind]
    a = (rng.integers(0, 2, (32, 32)) * one).astype(np.uint8)
    b = (rng.integers(0, 2, (64, 32)) * one).astype(np.uint8)
    c = device.poison((32, 64), np.float32)
    # A GPU of today gets such products as conversions.
    options = {"arch": "sm89"} if device.target == "cuda" else {}
    some_columns[(1,)](
        device.put(a), device.put(b), c, 16, getattr(tl, kind),
        num_warps=warps, **options,
    )  # fmt: skip
    want = (a == one).astype(np.float32) @ (b == one).astype(np.float32).T
    want[:, 16:] = 0
    np.testing.assert_array_equal(device.get(c), want)


def test_words_of_masked_loads_are_joined() -> None:
    """A false load's 0 is known to ptxas 13.0 behind selections and shuffles, too."""
    ptx = some_columns.compile(
        "*u8:16", "*u8:16", "*fp32:16", target="cuda:sm_89",
        N=16, KIND=tl.float8e4nv, num_warps=1,
    ).asm["ptx"]  # fmt: skip
    operands = re.findall(r"mma\.sync\S* {.*?}, {(.*?)}, {(.*?)}", ptx)
    words = {w for pair in operands for w in ", ".join(pair).split(", ")}
    assert words and words <= set(re.findall(r"or\.b32 (%r\d+),", ptx))


@tegula.jit
def by_zeros(a_ptr, c_ptr, KIND: tl.constexpr):
    m, k, n = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 32)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :])
    b = tl.zeros([64, 32], tl.uint8)
    c = tl.dot(a.to(KIND, bitcast=True), b.to(KIND, bitcast=True))
    tl.store(c_ptr + m[:, None] * 32 + n[None, :], c)


@pytest.mark.parametrize("chip", ("sm_89", "sm_120a"))
def test_what_hides_a_zero_is_not_joined(chip: str) -> None:
    """It would be joined with itself, which LLVM does not survive."""
    ptx = by_zeros.compile(
        "*u8:16", "*fp32:16", target=f"cuda:{chip}", KIND=tl.float8e4nv, num_warps=1
    ).asm["ptx"]
    zeros = set(re.findall(r"or\.b32 (%r\d+), s,", ptx))
    assert zeros and "mma.sync" in ptx
    assert not zeros & set(re.findall(r"or\.b32 %r\d+, (%r\d+),", ptx))
