"""Products that a loop on the CPU makes several turns at a time (csrc/codegen/host/late.c):
the sum is that of all turns, however many there are, and nothing waits where somebody reads
it."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl

LATE = "products of 2 turns at a time"
M, N, B = 128, 128, 32  # the sum is larger than a first cache


@tegula.jit
def kernel(a_ptr, b_ptr, c_ptr, K, seen_ptr, FORM: tl.constexpr, M: tl.constexpr,
           N: tl.constexpr, B: tl.constexpr, ACC: tl.constexpr):  # fmt: skip
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, B)
    acc = tl.zeros((M, N), ACC)
    first_b = tl.load(b_ptr + k[:, None] * N + n)
    for _ in range(2 if FORM == "twice" else 1):
        for first in range(0, K, B):
            at = first + k
            a = tl.load(a_ptr + m * K + at[None, :], mask=(at < K)[None, :], other=0)
            b = tl.load(b_ptr + at[:, None] * N + n, mask=(at < K)[:, None], other=0)
            if FORM == "same":
                b = first_b
            if FORM == "scanned":
                b = tl.cumsum(b, axis=0)
            acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
            if FORM == "seen":
                tl.store(seen_ptr + first // B * M * N + m * N + n, acc)
    tl.store(c_ptr + m * N + n, acc)


def run(
    turns: float, form: str, dtype: type = np.float32
) -> tuple[np.ndarray, np.ndarray, str, np.ndarray, np.ndarray]:
    """The result, what the loop has stored, the report's line; the operands."""
    K = int(turns * B)
    rng = np.random.default_rng(K)
    a, b = (rng.integers(-8, 9, s).astype(dtype) for s in ((M, K), (max(K, B), N)))
    acc = np.float32 if dtype is np.float32 else np.int32
    c, seen = np.full((M, N), 77, acc), np.empty((tegula.cdiv(K, B), M, N), acc)
    ACC = tl.float32 if dtype is np.float32 else tl.int32
    code = kernel[(1,)](a, b, c, K, seen, FORM=form, M=M, N=N, B=B, ACC=ACC)
    (row,) = [r for r in code.report.rows if r.what == "dot"]
    return c, seen, row.text, a, b[:K]


@pytest.mark.parametrize("turns", [0, 0.5, 1, 2, 2.25, 3, 4, 7])
def test_any_number_of_turns(turns):
    c, _, text, a, b = run(turns, "")
    assert LATE in text
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("turns", [1, 7, 8, 9.5, 17])
def test_whole_numbers(turns):
    """By AMX, where the CPU has it, up to sixteen turns; without AVX512-VNNI two."""
    c, _, text, a, b = run(turns, "", np.int8)
    assert ("turns at a time" in text) == ("tdpbssd" in text or "no AVX512" in text)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_a_loop_in_another_one():
    c, _, text, a, b = run(3, "twice")
    assert LATE in text
    np.testing.assert_array_equal(c, 2 * (a @ b))


def test_an_operand_from_before_the_loop():
    c, _, text, a, b = run(3, "same")
    assert LATE in text
    np.testing.assert_array_equal(
        c, sum(a[:, i : i + B] @ b[:B] for i in (0, B, 2 * B))
    )


def test_a_sum_that_is_read_in_the_loop_is_whole_there():
    c, seen, text, a, b = run(3, "seen")
    assert "at a time" not in text
    for i in range(3):
        np.testing.assert_array_equal(seen[i], a[:, : (i + 1) * B] @ b[: (i + 1) * B])
    np.testing.assert_array_equal(c, seen[2])


def test_an_operand_in_scratch_of_the_loop_does_not_wait():
    c, _, text, a, b = run(4, "scanned")
    assert "at a time" not in text
    sums = b.reshape(4, B, N).cumsum(1).reshape(4 * B, N)
    np.testing.assert_array_equal(c, a @ sums)
