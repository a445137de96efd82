"""What masks and addresses cost: those that are the same are one, and nothing is spilled.

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


@tegula.jit
def scaled_rows(x_ptr, y_ptr, rows, OF: tl.constexpr, M: tl.constexpr):
    r = tl.program_id(0).to(OF) * M + tl.arange(0, M)
    at = r[:, None] * 128 + tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + at, mask=(r < rows)[:, None], other=0.0).to(tl.float32)
    x = x / tl.sum(x, axis=1)[:, None]
    tl.store(y_ptr + at, x.to(y_ptr.dtype.element_ty), mask=(r < rows)[:, None])


@pytest.mark.parametrize("index", [tl.int32, tl.int64])
@pytest.mark.parametrize(("m", "warps"), [(32, 1), (64, 2), (32, 2), (256, 16)])
def test_a_mask_of_16_rows(index: tl.dtype, m: int, warps: int) -> None:
    """A thread has a mask for each 16 rows of which it has some, and not for each row."""
    own = m // (2 * warps)
    asked = {"OF": index, "M": m, "num_warps": warps, "target": "cuda:sm_90a"}
    b = "*bf16:16"
    assert masks(scaled_rows.compile(b, b, "i32:16", **asked).asm["ptx"]) == min(
        m // 16, own
    )
    assert masks(scaled_rows.compile(b, b, "i32", **asked).asm["ptx"]) == own


@pytest.mark.skipif(not PTXAS, reason="needs ptxas")
@pytest.mark.parametrize(("n", "warps"), [(2048, 4), (4096, 8), (512, 1), (1024, 2)])
def test_registers_that_spill_are_dealt_again(n: int, warps: int) -> None:
    """Sixteen masks of odd rows want more than their loop's words: for as many blocks as
    would fit ptxas spills."""
    kernel = made("i32:16", M=1, N=n, num_warps=warps)
    assert kernel.n_spills == 0
    assert "spills 0" in kernel.report
    assert ".minnctapersm" not in kernel.asm["ptx"]


@tegula.jit
def norm_with_dropout(
    x_ptr, r_ptr, w_ptr, b_ptr, y_ptr, mask_ptr, n, p, eps, seed, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    at = row * n + cols
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    keep = tl.rand(seed, at.to(tl.uint32), n_rounds=7) > p
    tl.store(mask_ptr + at, keep.to(tl.int8), mask=mask)
    x = tl.where(keep, x / (1 - p), 0.0)
    x += tl.load(r_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(r_ptr + at, x.to(r_ptr.dtype.element_ty), mask=mask)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)
    tl.store(y_ptr + at, (d * rstd * w + b).to(y_ptr.dtype.element_ty), mask=mask)


@pytest.mark.skipif(not PTXAS, reason="needs ptxas")
@pytest.mark.parametrize(("warps", "blocks", "regs"), [(8, 4, 64), (4, 4, 128)])
def test_a_few_registers_too_many_are_asked_back(
    warps: int, blocks: int, regs: int
) -> None:
    """Of what ptxas takes three blocks fit, and four of a few less."""
    b = "*bf16:16"
    kernel = norm_with_dropout.compile(
        b, b, b, b, b, "*i8:16", "i32:16", "fp32", "fp32", "i32:16",
        BLOCK=4096, num_warps=warps, target="cuda:sm_90a",
    )  # fmt: skip
    assert kernel.n_regs <= regs
    assert kernel.n_spills == 0
    assert f".minnctapersm {blocks}" in kernel.asm["ptx"]
    assert f"a few too many for {blocks} blocks" in kernel.report


@tegula.jit
def latent(
    q_ptr, keys_ptr, o_ptr, T, H: tl.constexpr, D: tl.constexpr, R: tl.constexpr,
    N: tl.constexpr,
):  # fmt: skip
    """Keys have D + R columns, and the first D are the values."""
    h, c, d, r = tl.arange(0, H), tl.arange(0, N), tl.arange(0, D), D + tl.arange(0, R)
    rows = q_ptr + h[:, None] * (D + R)
    q, q_turned = tl.load(rows + d[None, :]), tl.load(rows + r[None, :])
    top = tl.full((H,), -float("inf"), tl.float32)
    acc = tl.zeros((H, D), tl.float32)
    for j in range(0, T, N):
        columns = keys_ptr + (j + c)[None, :] * (D + R)
        k = tl.load(columns + d[:, None])
        s = tl.dot(q, k)
        s += tl.dot(q_turned, tl.load(columns + r[:, None]))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        acc = acc * tl.exp2(top - new)[:, None] + tl.dot(p.to(k.dtype), tl.trans(k))
        top = new
    tl.store(o_ptr + h[:, None] * D + d[None, :], acc)


@pytest.mark.skipif(not PTXAS, reason="needs ptxas")
def test_products_give_a_fifth_of_their_registers_for_a_block() -> None:
    kernel = latent.compile(
        "*bf16:16", "*bf16:16", "*fp32:16", "i32:16", H=16, D=512, R=64, N=64,
        num_warps=8, num_stages=1, target="cuda:sm_90a",
    )  # fmt: skip
    assert kernel.n_regs <= 128 and kernel.n_spills == 0
    assert "a few too many for 2 blocks" in kernel.report


@tegula.jit
def loss(x_ptr, label_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    x = x.to(tl.float32)
    peak = tl.max(x, axis=0)
    others = tl.where(cols == label, 0.0, tl.exp(x - peak))
    tl.store(y_ptr + row, peak + tl.log(tl.sum(others, axis=0)))


def shared_row(n: int) -> tegula.CompiledKernel:
    types = "*bf16:16", "*i32:16", "*fp32:16"
    options = {"num_warps": 16, "target": "cuda:sm_90a"}
    return loss.compile(*types, N=n, BLOCK=65536, **options)


def test_blocks_that_share_a_row_load_what_it_has() -> None:
    """Of 64 columns of a thread of a cluster 14 are behind the row's end in every block."""
    ptx = shared_row(50257).asm["ptx"]
    assert ".reqnctapercluster 2" in ptx
    assert masks(ptx) < 8


@pytest.mark.skipif(not PTXAS, reason="needs ptxas")
def test_a_block_that_is_alone_gives_more_registers_back() -> None:
    """For a second block on a multiprocessor a fifth of the registers, and a few words spilled."""
    kernel = shared_row(50257)
    assert kernel.n_regs <= 64
    assert ".minnctapersm 2" in kernel.asm["ptx"]


@tegula.jit
def log_of_sum(x_ptr, y_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK)).to(tl.float32)
    peak = tl.max(x, axis=0)
    tl.store(y_ptr + row, peak + tl.log(tl.sum(tl.exp(x - peak), axis=0)))


@pytest.mark.skipif(not PTXAS, reason="needs ptxas")
def test_a_block_of_all_threads_keeps_what_it_loaded() -> None:
    """Its 64 registers a thread are 64 elements, and those as they were loaded leave room for addresses."""
    options = {"BLOCK": 65536, "num_warps": 32, "target": "cuda:sm_90a"}
    kernel = log_of_sum.compile("*bf16:16", "*fp32:16", **options)
    assert kernel.n_spills <= 16
    assert "again" in kernel.asm["simt"]


@pytest.mark.parametrize(("m", "n", "warps"), [(2, 128, 1), (4, 256, 4), (8, 128, 4)])
def test_columns_of_a_thread_share_an_address(m: int, n: int, warps: int) -> None:
    """The loop has one product for the address of a column; others are a distance away."""
    ptx = made("i32:16", M=m, N=n, num_warps=warps).asm["ptx"]
    loop = re.split(r"\n\t@%p\d+ bra", ptx[ptx.index("$L__BB0_2:") :])[0]
    assert len(re.findall(r"mul\.wide", loop)) == 1
    assert len(re.findall(r"ld\.global", loop)) == m * n // (32 * warps)
