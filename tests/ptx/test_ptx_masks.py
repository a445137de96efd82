"""What masks of rows cost: comparisons that are the same are one, and nothing is spilled.

A mask of registers is a predicate, of which a thread has seven. ptxas packs more than those
into a register and takes them out again, with two instructions a mask.
"""

from __future__ import annotations

import re

import pytest
from test_gate import PTXAS

import tegula
import tegula.language as tl


@tegula.jit
def running_variance(x_ptr, y_ptr, rows, n, M: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    base = r[:, None].to(tl.int64) * n
    mean = tl.zeros((M, N), tl.float32)
    acc = tl.zeros((M, N), tl.float32)
    count = tl.zeros((M, N), tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)[None, :]
        mask = (r < rows)[:, None] & (c < n)
        x = tl.load(x_ptr + base + c, mask=mask, other=0.0).to(tl.float32)
        count += mask
        d = tl.where(mask, x - mean, 0.0)
        mean += d / tl.maximum(count, 1.0)
        acc += d * tl.where(mask, x - mean, 0.0)
    total = tl.sum(acc, 1) / tl.sum(count, 1)
    tl.store(y_ptr + r, total, mask=r < rows)


def made(rows: str, **options: int) -> tegula.CompiledKernel:
    return running_variance.compile(
        "*bf16:16", "*fp32:16", rows, "i32", target="cuda:sm_90a", **options
    )


def masks(ptx: str) -> int:
    """How many predicates the loads have."""
    return len(set(re.findall(r"@(%p\d+) ld\.global", ptx)))


@pytest.mark.parametrize(
    ("m", "n", "warps", "columns"),
    [(2, 128, 1, 4), (4, 256, 4, 2), (8, 256, 8, 1), (1, 1024, 4, 8)],
)
def test_rows_that_end_together_have_one_mask(
    m: int, n: int, warps: int, columns: int
) -> None:
    """A thread has a mask for each column where a launch says that its rows end together."""
    together = made("i32:16", M=m, N=n, num_warps=warps).asm["ptx"]
    assert masks(together) == columns
    if m > 1:
        assert masks(made("i32", M=m, N=n, num_warps=warps).asm["ptx"]) > columns


@pytest.mark.skipif(not PTXAS, reason="needs ptxas")
@pytest.mark.parametrize(("n", "warps"), [(1024, 4), (4096, 16), (2048, 8), (512, 2)])
def test_registers_that_spill_are_dealt_again(n: int, warps: int) -> None:
    """Eight masks of odd rows want more than their loop's words: for as many blocks as would fit ptxas spilled
    248 bytes."""
    kernel = made("i32:16", M=1, N=n, num_warps=warps)
    assert kernel.n_spills == 0
    assert "spills 0" in kernel.report
    assert ".minnctapersm" not in kernel.asm["ptx"]
