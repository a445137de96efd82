"""Tiles of half a line, or a quarter, come two or four at a time: whole_lines.c."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
from test_roles import ran, whole_numbers

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
M, N = 64, 64


@tegula.jit
def by_descriptors(
    a_ptr, b_ptr, c_ptr, M, N, K, begin: tl.constexpr, end, wide,
    TURNED: tl.constexpr, BY_COUNT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Of columns begin to end of a, in tiles; both tensors are `wide` along K."""
    a = tl.make_tensor_descriptor(a_ptr, [M, wide], [wide, 1], [BM, BK])
    if TURNED:
        b = tl.make_tensor_descriptor(b_ptr, [N, wide], [wide, 1], [BN, BK])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [wide, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    if BY_COUNT:
        for i in range(begin, tl.cdiv(end, BK)):
            x = a.load([m, i * BK])
            y = b.load([n, i * BK]).T if TURNED else b.load([i * BK, n])
            acc = tl.dot(x, y, acc)
    else:
        for k in range(begin, end, BK):
            y = b.load([n, k]).T if TURNED else b.load([k, n])
            acc = tl.dot(a.load([m, k]), y, acc)
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))


def product(turned, by_count, begin, end, bk, dtype=np.float16, wide=None, **options):
    """What is read of a and b is numbers; the rest of them is NaN."""
    first = begin * bk if by_count else begin
    last = first + max(-(-(end - first) // bk), 0) * bk
    wide = wide or -(-end // 64) * 64
    a = whole_numbers(1, M, wide, dtype=dtype)
    b = whole_numbers(2, wide, N, dtype=dtype)
    want = a[:, first:last].astype(np.float64) @ b[first:last].astype(np.float64)
    a[:, :first] = a[:, last:] = np.nan
    b[:first] = b[last:] = np.nan
    c = np.full((M, N), np.nan, dtype)
    lies = np.ascontiguousarray(b.T) if turned else b
    there = [simulated.put(x, TARGET) for x in (a, lies, c)]
    compiled = ran(
        lambda: by_descriptors[(M // 64, N // 64)](
            *there, M, N, 0, begin, end, wide, turned, by_count,
            BM=64, BN=64, BK=bk, num_warps=4, **options,
        )
    )  # fmt: skip
    np.testing.assert_array_equal(there[2].numpy(), want.astype(dtype))
    return str(compiled.report)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("by_count", [False, True])
@pytest.mark.parametrize("end", [32, 64, 96, 288])
def test_even_and_odd_numbers_of_tiles(turned, by_count, end):
    """The tile too much of the last turn would be NaN."""
    assert "2 at once" in product(turned, by_count, 0, end, 32, wide=384)


@pytest.mark.parametrize("end", [16, 48, 64, 80, 100])
def test_four_at_once(end):
    assert "4 at once" in product(True, False, 0, end, 16, wide=192)


@pytest.mark.parametrize("by_count, begin", [(False, 32), (True, 1), (False, 8)])
def test_begins_later(by_count, begin):
    assert "2 at once" in product(True, by_count, begin, 232, 32, wide=320)


def test_tf32():
    assert "2 at once" in product(True, False, 0, 80, 16, np.float32, wide=160)


def test_lines_are_whole_already():
    """Rows of B along N are, and A's of 64 columns."""
    assert "at once" not in product(False, False, 0, 128, 64)


@tegula.jit
def by_pointers(
    a_ptr, b_ptr, c_ptr, M, N, K, stride, MASKED: tl.constexpr, SUMS: tl.constexpr,
    OWN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * stride + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    rows = tl.zeros((BM,), tl.float32)
    end = K - tl.program_id(0) if OWN else K
    for k0 in range(0, end, BK):
        if MASKED:
            a = tl.load(a_ptrs, mask=k[None, :] < K - k0, other=0.0)
            b = tl.load(b_ptrs, mask=k[:, None] < K - k0, other=0.0)
        else:
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        acc = tl.dot(a, b, acc)
        if SUMS:
            rows += k0
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc + rows[:, None])


def by_pointer(masked, end, *, sums=False, own=False):
    stride = end + 72
    a, b = whole_numbers(1, M, stride), whole_numbers(2, stride, N)
    read = end if masked else -(-end // 32) * 32
    want = a[:, :read].astype(np.float64) @ b[:read].astype(np.float64)
    want += sum(range(0, end, 32)) * sums
    a[:, read:] = b[read:] = np.nan
    c = simulated.put(np.full((M, N), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, b)]
    compiled = by_pointers[(M // 64, N // 64)](
        *there,
        c,
        M,
        N,
        end,
        stride,
        masked,
        sums,
        own,
        BM=64,
        BN=64,
        BK=32,
        num_warps=4,
    )
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float32))
    return str(compiled.report)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("end", [8, 32, 104, 192, 256])
def test_plain_pointers(masked, end):
    assert "2 at once" in by_pointer(masked, end)


def test_the_loop_does_something_else():
    assert "at once" not in by_pointer(True, 96, sums=True)


def test_the_loop_ends_where_the_program_says():
    """A map is the launch's."""
    assert "at once" not in by_pointer(True, 96, own=True)


@tegula.jit
def gated(
    a_ptr, b_ptr, d_ptr, c_ptr, N, K,
    SELF: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """c = (a @ b) + 2 * (a @ d.T), or with a.T in d's place."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, [M_ROWS, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    d = tl.make_tensor_descriptor(d_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M_ROWS, N], [N, 1], [BM, BN])
    x = tl.zeros((BM, BN), tl.float32)
    y = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rows = a.load([m, k])
        x = tl.dot(rows, b.load([k, n]), x)
        y = tl.dot(rows, rows.T if SELF else d.load([n, k]).T, y)
    c.store([m, n], x + 2 * y)


M_ROWS = tl.constexpr(M)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("k", [32, 96, 160])
def test_products_that_share_a_tile(own, k):
    a, b, d = whole_numbers(1, M, k), whole_numbers(2, k, N), whole_numbers(3, N, k)
    c = simulated.put(np.full((M, N), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, b, d)]
    compiled = ran(
        lambda: gated[(1, 1)](*there, c, N, k, own, BM=64, BN=64, BK=32, num_warps=4)
    )
    a, b, d = (x.astype(np.float64) for x in (a, b, d))
    np.testing.assert_array_equal(c.numpy(), a @ b + 2 * (a @ (a if own else d).T))
    assert "2 at once" in str(compiled.report)


@tegula.jit
def by_indices(
    a_ptr, b_ptr, d_ptr, c_ptr, N, K, stride, FORM: tl.constexpr, BY_COUNT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """c = a @ b + 2 * (a @ d); the loop steps what is added to pointers, not these."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    x = tl.zeros((BM, BN), tl.float32)
    y = tl.zeros((BM, BN), tl.float32)
    at, of_a = k[:, None] * N + n[None, :], k
    for k0 in range(0, tl.cdiv(K, BK) if BY_COUNT else K, 1 if BY_COUNT else BK):
        if FORM == "computed":
            of_a = (k0 * BK if BY_COUNT else k0) + k
            at = of_a[:, None] * N + n[None, :]
        if FORM == "masked":
            at = of_a[:, None] * N + n[None, :]
            a = tl.load(a_ptr + m[:, None] * stride + of_a[None, :], of_a[None, :] < K)
            b = tl.load(b_ptr + at, mask=of_a[:, None] < K, other=0.0)
            d = tl.load(d_ptr + at, mask=of_a[:, None] < K, other=0.0)
        else:
            a = tl.load(a_ptr + m[:, None] * stride + of_a[None, :])
            b, d = tl.load(b_ptr + at), tl.load(d_ptr + at)
        x = tl.dot(a, b, x)
        y = tl.dot(a, d, y)
        of_a += BK
        at += BK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], x + 2 * y)


@pytest.mark.parametrize("by_count", [False, True])
@pytest.mark.parametrize("form", ["stepped", "computed", "masked"])
@pytest.mark.parametrize("end", [24, 96, 160])
def test_indices(form, by_count, end):
    stride = end + 72
    a = whole_numbers(1, M, stride)
    b, d = whole_numbers(2, stride, N), whole_numbers(3, stride, N)
    read = end if form == "masked" else -(-end // 32) * 32
    want = a[:, :read].astype(np.float64) @ (b + 2.0 * d)[:read].astype(np.float64)
    a[:, read:] = b[read:] = d[read:] = np.nan
    c = simulated.put(np.full((M, N), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, b, d)]
    compiled = ran(
        lambda: by_indices[(1, 1)](
            *there, c, N, end, stride, form, by_count, BM=64, BN=64, BK=32, num_warps=4
        )
    )
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float32))
    assert "2 at once" in str(compiled.report)
