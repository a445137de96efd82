"""Blocks whose columns are consecutive in memory where rows are wanted, and the reverse.
CPUs turn them in registers (csrc/codegen/host/turn.c)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tegula
import tegula.language as tl

TYPES = [np.float32, np.float64, np.float16, np.int8, np.int64, np.bool_]
DOTS = [(np.float32, tl.float32), (np.float64, tl.float64), (np.float16, tl.float32)]


@tegula.jit
def copy_transposed(
    x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, HOW: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    if HOW == "load":
        mask = (n < N)[:, None] & (m < M)[None, :]
        x = tl.load(x_ptr + m[None, :] * N + n[:, None], mask=mask)
        tl.store(y_ptr + n[:, None] * M + m[None, :], x, mask=mask)
    else:
        mask = (m < M)[:, None] & (n < N)[None, :]
        x = tl.load(x_ptr + m[:, None] * N + n[None, :], mask=mask)
        if HOW == "store":
            tl.store(y_ptr + n[None, :] * M + m[:, None], x, mask=mask)
        elif HOW == "twice":
            tl.store(y_ptr + n[None, :] * M + m[:, None], x, mask=mask)
            tl.store(x_ptr + m[:, None] * N + n[None, :], x, mask=mask)
        else:
            tl.store(y_ptr + n[:, None] * M + m[None, :], tl.trans(x), tl.trans(mask))


@pytest.mark.parametrize("how", ["load", "trans", "store", "twice"])
@pytest.mark.parametrize("dtype", TYPES)
def test_transposed_copies(dtype, how):
    for (M, N), (BM, BN) in itertools.product(
        [(64, 64), (100, 77)], [(16, 16), (32, 64), (64, 8), (4, 32)]
    ):
        x = (np.random.default_rng(1).standard_normal((M, N)) * 50).astype(dtype)
        y = np.zeros((N, M), dtype)
        grid = (tegula.cdiv(M, BM), tegula.cdiv(N, BN))
        copy_transposed[grid](x, y, M, N, BM, BN, how)
        np.testing.assert_array_equal(y, x.T)


@tegula.jit
def product(
    a_ptr, b_ptr, c_ptr, b_k, b_n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    ACC: tl.constexpr, HOW: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    in_n, in_k = n < N - 3, k < K - 5
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    if HOW == "strides":
        mask = in_k[:, None] & in_n[None, :]
        b = tl.load(b_ptr + k[:, None] * b_k + n[None, :] * b_n, mask=mask, other=0)
    else:
        mask = in_n[:, None] & in_k[None, :]
        b = tl.load(b_ptr + n[:, None] * b_n + k[None, :] * b_k, mask=mask, other=0)
        if HOW == "kept":
            b = tl.cumsum(b, 0).to(b.dtype)
        b = tl.trans(b)
    c = tl.dot(a, b, input_precision="ieee", out_dtype=ACC)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@pytest.mark.parametrize("how", ["strides", "trans", "kept"])
@pytest.mark.parametrize(("dtype", "acc"), [*DOTS, (np.int8, tl.int32)])
def test_second_operands(dtype, acc, how):
    for M, N, K in [(16, 16, 16), (32, 64, 32), (64, 128, 64), (64, 32, 128)]:
        rng = np.random.default_rng(M)
        a, b = (rng.integers(-2, 3, (n, K)).astype(dtype) for n in (M, N))
        c = np.zeros((M, N), np.int32 if acc == tl.int32 else dtype)
        if dtype == np.float16:
            c = c.astype(np.float32)
        product[(1,)](a, b, c, 1, K, M, N, K, acc, how)
        b[:, K - 5 :] = 0
        b[N - 3 :] = 0
        if how == "kept":
            b = np.cumsum(b, 0).astype(dtype)
        np.testing.assert_array_equal(c, a.astype(c.dtype) @ b.T.astype(c.dtype))


@tegula.jit
def first_operand(a_ptr, b_ptr, c_ptr, a_k, S: tl.constexpr):
    i = tl.arange(0, S)
    a = tl.load(a_ptr + i[:, None] + i[None, :] * a_k) * 2
    b = tl.load(b_ptr + i[:, None] * S + i[None, :])
    tl.store(c_ptr + i[:, None] * S + i[None, :], tl.dot(a, b, out_dtype=tl.int32))


def test_first_operand_by_columns():
    rng = np.random.default_rng(2)
    a, b = rng.integers(-60, 60, (2, 64, 64)).astype(np.int8)
    c = np.zeros((64, 64), np.int32)
    first_operand[(1,)](a, b, c, 64, 64)
    np.testing.assert_array_equal(c, a.T.astype(np.int32) * 2 @ b.astype(np.int32))


@pytest.mark.parametrize("of", ["*fp16", "*i8", "*fp32"])
@pytest.mark.parametrize("how", ["trans", "store", "load"])
def test_report_has_vectors(of, how):
    """A store by rows gathers 4 bytes, by an instruction if any; all else is vectors."""
    report = copy_transposed.compile(
        of, of, "i32", "i32", BM=32, BN=32, HOW=how, target="cpu"
    ).report
    whats = [row.text for row in report.rows]
    assert len(whats) == 2
    if of != "*fp32" or how == "store":
        assert all(what.startswith("vectors of ") for what in whats), whats
