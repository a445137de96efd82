"""Products of which a mask drops rows and columns, or makes the rest of K 0.

A CPU computes no more than is seen (csrc/codegen/host/ends.c). What it must not take for an
end: a mask of another turn of a loop, of one store of two, and rows that somebody sums up.
"""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def masked(
    a_ptr, b_ptr, c_ptr, M, N, K, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), ACC)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + m[:, None] * K + k[None, :],
            mask=(m < M)[:, None] & (k < K)[None, :],
            other=0,
        )
        b = tl.load(
            b_ptr + k[:, None] * N + n[None, :],
            mask=(K > k)[:, None] & (n <= N - 1)[None, :],
            other=0,
        )
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
    at = c_ptr + m[:, None] * N + n[None, :]
    tl.store(at, acc, mask=(m < M)[:, None] & (N > n)[None, :])


@tegula.jit
def wrapped(
    a_ptr, b_ptr, c_ptr, M, N, K, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """Rows and columns behind the ends are those in front again."""
    m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), ACC)
    for turn in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - turn * BK, other=0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - turn * BK, other=0)
        acc += tl.dot(a, b, input_precision="ieee", out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK * N
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    at = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(at, acc, mask=(rows < M)[:, None] & (cols < N)[None, :])


def launch(kernel, grid, *args, **options):
    """Twice: the first launch checks accesses, so it loads all."""
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    kernel[grid](*before, **options)
    return kernel[grid](*args, **options)


def operands(dtype, M, N, K):
    rng = np.random.default_rng(M * N + K)
    if dtype == "int8":
        pair = [rng.integers(-128, 128, s, dtype=np.int8) for s in ((M, K), (K, N))]
        return *pair, np.zeros((M, N), np.int32), tl.int32
    pair = [rng.standard_normal(s).astype(np.float32) for s in ((M, K), (K, N))]
    if dtype == "bfloat16":
        torch = pytest.importorskip("torch")
        pair = [torch.from_numpy(x).bfloat16() for x in pair]
    return *pair, np.zeros((M, N), np.float32), tl.float32


def as_f64(x):
    return np.asarray(x if isinstance(x, np.ndarray) else x.float()).astype(np.float64)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("kernel", [masked, wrapped])
@pytest.mark.parametrize(
    ("M", "N", "K", "BM", "BN", "BK"),
    [
        (1, 1, 1, 16, 16, 16),
        (65, 130, 33, 64, 64, 32),
        (100, 100, 100, 128, 128, 64),
        (61, 177, 350, 64, 64, 32),
        (37, 48, 90, 32, 64, 64),
        (5, 129, 600, 16, 128, 128),
        (129, 31, 257, 128, 32, 256),
    ],
)
def test_sizes(kernel, dtype, M, N, K, BM, BN, BK):
    a, b, c, acc = operands(dtype, M, N, K)
    grid = (tegula.cdiv(M, BM), tegula.cdiv(N, BN))
    launch(kernel, grid, a, b, c, M, N, K, ACC=acc, BM=BM, BN=BN, BK=BK)
    np.testing.assert_allclose(c, as_f64(a) @ as_f64(b), rtol=1e-5, atol=1e-4)


def test_infinite_operands():
    """0 times infinity is NaN: of what is 0 in one operand alone nothing is left out."""

    @tegula.jit
    def kernel(a_ptr, b_ptr, c_ptr, K):
        i = tl.arange(0, 16)
        k = tl.arange(0, 32)
        a = tl.load(
            a_ptr + i[:, None] * 32 + k[None, :], mask=(k < K)[None, :], other=0
        )
        b = tl.load(b_ptr + k[:, None] * 16 + i[None, :])
        c = tl.dot(a, b, input_precision="ieee")
        tl.store(c_ptr + i[:, None] * 16 + i[None, :], c)

    a, b = np.ones((16, 32), np.float32), np.ones((32, 16), np.float32)
    b[30] = np.inf
    c = np.zeros((16, 16), np.float32)
    launch(kernel, (1,), a, b, c, 20)
    assert np.isnan(c).all()


def test_a_second_store_sees_all():
    @tegula.jit
    def kernel(a_ptr, b_ptr, c_ptr, all_ptr, M):
        i = tl.arange(0, 64)
        at = i[:, None] * 64 + i[None, :]
        c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision="ieee")
        tl.store(c_ptr + at, c, mask=(i < M)[:, None])
        tl.store(all_ptr + at, c + 1.0)

    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    c, full = np.zeros_like(a), np.zeros_like(a)
    launch(kernel, (1,), a, b, c, full, 20)
    np.testing.assert_allclose(full, a @ b + 1, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(c[:20], (a @ b)[:20], rtol=1e-4, atol=1e-4)
    assert not c[20:].any()


def test_a_sum_of_rows_sees_all():
    @tegula.jit
    def kernel(a_ptr, b_ptr, c_ptr, sums_ptr, M):
        i = tl.arange(0, 64)
        at = i[:, None] * 64 + i[None, :]
        c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision="ieee")
        tl.store(c_ptr + at, c, mask=(i < M)[:, None] & (i < M)[None, :])
        tl.store(sums_ptr + i, tl.sum(c, 0), mask=i < M)

    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    c, sums = np.zeros_like(a), np.zeros(64, np.float32)
    launch(kernel, (1,), a, b, c, sums, 20)
    np.testing.assert_allclose(sums[:20], (a @ b).sum(0)[:20], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("order", [1, -1])
def test_the_mask_of_another_turn(order):
    """What a turn stores was computed in the turn before, whose end is another."""

    @tegula.jit
    def kernel(a_ptr, b_ptr, c_ptr, TURNS: tl.constexpr, ORDER: tl.constexpr):
        i = tl.arange(0, 32)
        at = i[:, None] * 32 + i[None, :]
        acc = tl.zeros((32, 32), tl.float32)
        for turn in range(TURNS):
            end = (turn + 1) * 8 if ORDER == 1 else (TURNS - turn) * 8
            tl.store(c_ptr + turn * 1024 + at, acc, mask=(i < end)[:, None])
            a = tl.load(a_ptr + turn * 1024 + at)
            acc = tl.dot(a, tl.load(b_ptr + at), acc, input_precision="ieee")

    turns = 4
    rng = np.random.default_rng(3)
    a = rng.standard_normal((turns, 32, 32)).astype(np.float32)
    b = rng.standard_normal((32, 32)).astype(np.float32)
    c = np.zeros_like(a)
    launch(kernel, (1,), a, b, c, TURNS=turns, ORDER=order)
    acc = np.zeros((32, 32))
    for turn in range(turns):
        end = (turn + 1 if order == 1 else turns - turn) * 8
        np.testing.assert_allclose(c[turn, :end], acc[:end], rtol=1e-4, atol=1e-4)
        assert not c[turn, end:].any()
        acc += a[turn] @ b


def test_tiles_of_programs_with_other_ends():
    """A thread that keeps an operand has the columns that its next program sees, too."""

    @tegula.jit
    def kernel(a_ptr, b_ptr, c_ptr):
        z = tl.program_id(0)
        i = tl.arange(0, 16)
        n = tl.arange(0, 512)
        a = tl.load(a_ptr + z * 256 + i[:, None] * 16 + i[None, :])
        b = tl.load(b_ptr + i[:, None] * 512 + n[None, :])
        c = tl.dot(a, b, input_precision="ieee")
        at = c_ptr + z * 8192 + i[:, None] * 512 + n[None, :]
        tl.store(at, c, mask=(n < z * 70 + 1)[None, :])

    rng = np.random.default_rng(4)
    a = rng.standard_normal((8, 16, 16)).astype(np.float32)
    b = rng.standard_normal((16, 512)).astype(np.float32)
    c = np.zeros((8, 16, 512), np.float32)
    launch(kernel, (8,), a, b, c)
    for z in range(8):
        end = z * 70 + 1
        np.testing.assert_allclose(c[z, :, :end], (a[z] @ b)[:, :end], 1e-4, 1e-4)
        assert not c[z, :, end:].any()


def test_the_report_says_so():
    a, b, c, acc = operands("float32", 40, 40, 40)
    compiled = launch(masked, (1, 1), a, b, c, 40, 40, 40, ACC=acc, BM=64, BN=64, BK=32)
    assert "rows, columns, K that masks drop are not computed" in str(compiled.report)
