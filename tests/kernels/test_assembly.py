"""Assembly in a kernel, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def shift_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    x = x_ptr + tl.arange(0, BLOCK)
    y = y_ptr + tl.arange(0, BLOCK)
    tl.inline_asm_elementwise(
        "{ .reg .b32 v; ld.global.u8 v, [$1]; shl.b32 v, v, 3; "
        "st.global.u8 [$2], v; mov.b32 $0, v; }",
        "=r,l,l",
        [x, y],
        dtype=tl.int8,
        is_pure=False,
        pack=1,
    )


@pytest.mark.parametrize("block", [16, 512])
def test_assembly_whose_result_nobody_reads(device: Any, rng: Any, block: int) -> None:
    x = rng.integers(0, 256, block).astype(np.uint8)
    out = device.poison((block,), np.uint8)
    shift_kernel[(1,)](device.put(x), out, BLOCK=block)
    np.testing.assert_array_equal(device.get(out), x << 3)
