"""Quotients and remainders of neighbours: one division for those between two multiples."""

from __future__ import annotations

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = (i // width % 5) * 1000 + i % width + i % 7
    tl.store(y_ptr + i, y, mask=i < n)


@pytest.mark.parametrize("width", [1, 2, 8, 16, 24, 48, 49, 1000])
@pytest.mark.parametrize("target", ["emu:sm_90a", "cpu"])
def test_of_any_width(width: int, target: str) -> None:
    n = 3000
    y = np.zeros(n, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.target = target
        kernel[(3,)](y, n, width, BLOCK=1024)
    i = np.arange(n)
    want = i // width % 5 * 1000 + i % width + i % 7
    np.testing.assert_array_equal(y, want)


def test_one_division_for_eight() -> None:
    """Of 8 elements a thread, quotients and remainders; by 5 and 7 it multiplies."""
    ptx = kernel.compile(
        "*i16:16", "i32:16", "i32:16", BLOCK=1024, target="cuda:sm_90a"
    )
    assert ptx.asm["ptx"].count("rcp.approx") == 1
