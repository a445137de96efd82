"""How much a scan computes, read from machine code."""

from __future__ import annotations

import pytest
from test_gate import PTXAS
from test_ptx_loads import FADD, opcodes

import tegula
import tegula.language as tl

pytestmark = pytest.mark.skipif(not PTXAS, reason="needs ptxas")


@tegula.jit
def sums_down(x_ptr, y_ptr, ROWS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * 64 + tl.arange(0, 64)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.cumsum(x, axis=0, reverse=REVERSE))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("rows", "warps"), [(64, 2), (128, 4), (256, 4)])
def test_an_element_takes_two_additions(rows: int, warps: int, reverse: bool) -> None:
    """One to the sum before it in its thread, and one to what other threads have before that; joining
    halves of halves would take half of one for each doubling."""
    kernel = sums_down.compile(
        "*fp32:16", "*fp32:16", rows, reverse, num_warps=warps, target="cuda:sm_90a"
    )
    elements = rows * 64 // (32 * warps)
    sums = sum(op in FADD for op in opcodes(kernel.asm["cubin"]))
    assert elements < sums <= 2.5 * elements
