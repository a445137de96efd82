"""Tiles of which a thread has many rows: they share masks and addresses, and each is where
it was."""

from __future__ import annotations

import re

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl


@tegula.jit
def turned_rows(
    x_ptr, y_ptr, rows, columns, OF: tl.constexpr, PITCH: tl.constexpr, M: tl.constexpr
):
    """A row's elements over their sum; the first row becomes the last."""
    r = tl.program_id(0).to(OF) * M + tl.arange(0, M)
    c = tl.arange(0, 32)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = tl.load(x_ptr + r[:, None] * PITCH + c[None, :], mask=mask, other=0.0)
    x = x / tl.sum(x, axis=1)[:, None]
    to = (rows - 1 - r)[:, None] * PITCH + c[None, :]
    tl.store(y_ptr + to, x, mask=mask)


@pytest.mark.usefixtures("ptxsim")
@pytest.mark.parametrize("index", [tl.int32, tl.int64])
@pytest.mark.parametrize("pitch", [32, 44, 1 << 15])
@pytest.mark.parametrize(
    ("m", "warps", "rows", "columns"),
    [
        (64, 2, 48, 32),
        (64, 2, 80, 29),
        (64, 1, 33, 32),
        (32, 4, 16, 32),
        (128, 8, 100, 7),
    ],
)
def test_rows(
    m: int, warps: int, rows: int, columns: int, pitch: int, index: tl.dtype
) -> None:
    rng = np.random.default_rng(rows)
    x = rng.random((rows, pitch)).astype(np.float32) + 1
    there = simulated.put(x, "sm_90a")
    out = simulated.put(np.full_like(x, -1), "sm_90a")
    turned_rows[(tegula.cdiv(rows, m),)](
        there, out, rows, columns, OF=index, PITCH=pitch, M=m, num_warps=warps
    )
    want = np.full_like(x, -1)
    some = x[:, :columns]
    want[:, :columns] = (some / some.sum(1, keepdims=True))[::-1]
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("index", [tl.int32, tl.int64])
def test_rows_of_a_known_distance_share_an_address(index: tl.dtype) -> None:
    """A row that is loaded or stored is a constant away from the first one."""
    c = turned_rows.compile(
        "*fp32:16", "*fp32:16", "i32:16", "i32:16", OF=index, PITCH=48, M=64, num_warps=2,
        target="cuda:sm_90a",
    )  # fmt: skip
    ptx = c.asm["ptx"]
    pointers = set(re.findall(r"(?:ld|st)\.global[.\w]* .*\[(%rd\d+)\]", ptx))
    base = r"add\.s64 \t{}, (%rd\d+), -?\d+;"
    far = [re.search(base.format(p), ptx) for p in pointers]
    assert len(pointers) == 16
    assert len({m[1] for m in far if m}) == 2
    assert sum(m is None for m in far) == 2
