"""Descriptors made in a kernel of addresses, sizes and strides that it reads from memory.

What they promise (an aligned address, rows of a multiple of 16 bytes) makes wide accesses;
what they do not, the length of a row, must not be taken for more than it is.
"""

import re

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def grouped(
    table,
    anchor,
    groups,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    T: tl.constexpr,
):
    for g in range(groups):
        row = table + g * 9
        m, n, k = (
            tl.load(row).to(tl.int32),
            tl.load(row + 1).to(tl.int32),
            tl.load(row + 2).to(tl.int32),
        )
        a_ptr = tl.load(row + 3).to(tl.pointer_type(T))
        b_ptr = tl.load(row + 4).to(tl.pointer_type(T))
        c_ptr = tl.load(row + 5).to(tl.pointer_type(T))
        a = tl.make_tensor_descriptor(a_ptr, [m, k], [tl.load(row + 6), 1], [M, K])
        b = tl.make_tensor_descriptor(b_ptr, [n, k], [tl.load(row + 7), 1], [N, K])
        c = tl.make_tensor_descriptor(c_ptr, [m, n], [tl.load(row + 8), 1], [M, N])
        for i in range(tl.cdiv(m, M)):
            for j in range(tl.cdiv(n, N)):
                acc = tl.zeros((M, N), tl.float32)
                for s in range(tl.cdiv(k, K)):
                    x = a.load([i * M, s * K])
                    y = b.load([j * N, s * K])
                    acc = tl.dot(x, y.T, acc, input_precision="ieee")
                c.store([i * M, j * N], acc.to(T))


def rows_of_16_bytes(n: int, dtype: type) -> int:
    unit = 16 // np.dtype(dtype).itemsize
    return -(-n // unit) * unit


def padded(device, rng, m: int, n: int, dtype: type):
    """m x n numbers in rows that are longer, with NaN behind them."""
    whole = np.full((m, rows_of_16_bytes(n, dtype)), np.nan, dtype)
    whole[:, :n] = rng.integers(-4, 5, (m, n)) / 4
    return whole, device.put(whole)


def address(x) -> int:
    at = x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()
    assert at % 16 == 0
    return at


SIZES = [(17, 33, 40), (32, 32, 64), (5, 19, 3), (40, 8, 37), (1, 1, 1), (16, 31, 71)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("stages", [1, 3])
def test_grouped(device, rng, dtype, stages):
    kept, table, answers = [], [], []
    for m, n, k in SIZES if dtype == np.float16 else SIZES[:3]:
        (a, da), (b, db) = (
            padded(device, rng, m, k, dtype),
            padded(device, rng, n, k, dtype),
        )
        c = device.poison((m, rows_of_16_bytes(n, dtype)), dtype)
        strides = [a.shape[1], b.shape[1], c.shape[1]]
        table.append([m, n, k, address(da), address(db), address(c), *strides])
        want = a[:, :k].astype(np.float64) @ b[:, :k].astype(np.float64).T
        answers.append((want, n, c))
        kept += [da, db, c]
    text = tl.float16 if dtype == np.float16 else tl.float32
    # The tuple names the memory to targets that check every access.
    grouped[(1,)](
        device.put(np.array(table, np.int64)), tuple(kept), len(table), 16, 32, 32, text,
        num_stages=stages,
    )  # fmt: skip
    for want, n, c in answers:
        got = device.get(c)
        np.testing.assert_allclose(got[:, :n], want, rtol=1e-3, atol=1e-3)
        assert np.isnan(got[:, n:]).all()  # the padding is nobody's


@tegula.jit
def copies(table, anchor, out, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(
        tl.load(table).to(tl.pointer_type(tl.int8)),
        [tl.load(table + 1).to(tl.int32), tl.load(table + 2).to(tl.int32)],
        [tl.load(table + 3), 1],
        [M, N],
    )
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(
        out + at,
        x.load([tl.load(table + 4).to(tl.int32), tl.load(table + 5).to(tl.int32)]),
    )


@pytest.mark.parametrize("first", [(0, 0), (3, 5), (-2, -7), (9, 30), (0, 16), (40, 0)])
def test_any_offset(device, rng, first):
    whole = rng.integers(-100, 100, (12, 48)).astype(np.int8)
    x, out = device.put(whole), device.poison((16, 64), np.int8)
    rows, columns = 11, 37
    table = np.array([address(x), rows, columns, 48, *first], np.int64)
    copies[(1,)](device.put(table), (x,), out, 16, 64)
    want = np.zeros((16, 64), np.int8)
    for i in range(16):
        for j in range(64):
            r, c = i + first[0], j + first[1]
            if 0 <= r < rows and 0 <= c < columns:
                want[i, j] = whole[r, c]
    np.testing.assert_array_equal(device.get(out), want)


@tegula.jit
def sum_to(x, out, n, stride, M: tl.constexpr, N: tl.constexpr):
    """A mask by <=, from the other side, and one that ends in either of two places."""
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    p = x + i * stride + j
    a = tl.load(p, mask=j <= n, other=1)
    b = tl.load(p, mask=(n > j) & (i < n), other=2)
    c = tl.load(p, mask=(j < n) & (j < 2 * n - 13) & (i + 1 <= n))
    tl.store(out + i * N + j, a + 10 * b + 100 * c, mask=(j < n + 20) & (i >= 1))


@pytest.mark.parametrize("n", [0, 1, 7, 9, 14, 19, 31, 41])
def test_masks_that_end_in_a_vector(device, rng, n):
    x = rng.integers(0, 10, (16, 64)).astype(np.float32)
    out = device.poison((16, 64), np.float32)
    sum_to[(1,)](device.put(x), out, n, 64, 16, 64)
    i, j = np.arange(16)[:, None], np.arange(64)[None, :]
    want = np.where(j <= n, x, 1) + 10 * np.where((n > j) & (i < n), x, 2)
    inside = (j < n) & (j < 2 * n - 13) & (i + 1 <= n)
    want = want + 100 * np.where(inside, x, 0)
    written = (j < n + 20) & (i >= 1)
    got = device.get(out)
    np.testing.assert_array_equal(np.isnan(got), ~written)
    np.testing.assert_array_equal(got[written], want[written])


@tegula.jit
def product(table, out, groups, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    k = tl.load(table + 2).to(tl.int32)
    a_ptr = tl.load(table + 3).to(tl.pointer_type(tl.float16))
    b_ptr = tl.load(table + 4).to(tl.pointer_type(tl.float16))
    c_ptr = tl.load(table + 5).to(tl.pointer_type(tl.float16))
    a = tl.make_tensor_descriptor(a_ptr, [M, k], [tl.load(table + 6), 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [N, k], [tl.load(table + 7), 1], [N, K])
    c = tl.make_tensor_descriptor(
        c_ptr, [M, tl.load(out)], [tl.load(table + 8), 1], [M, N]
    )
    acc = tl.zeros((M, N), tl.float32)
    for s in range(tl.cdiv(k, K)):
        acc = tl.dot(a.load([0, s * K]), b.load([0, s * K]).T, acc)
    c.store([0, 0], acc.to(tl.float16))


def test_code():
    """16 bytes a copy and a store; single elements where rows end, and for nothing else."""
    ptx = product.compile(
        "*i64", "*i32", "i32", 64, 64, 64, num_stages=3, target="cuda:sm_90a"
    ).asm["ptx"]
    copies = re.findall(r"cp\.async\.(\w+).*?, (\d+), (\S+);", ptx)
    assert copies and all(c[:2] == ("cg", "16") for c in copies), copies
    assert ".v4.b32" in ptx
    assert not re.search(r"ld\.global\.b16", ptx)


def test_debug_mode_checks_the_promise(capfd):
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        x = np.zeros(400, np.int8)
        at = x.ctypes.data + (1 - x.ctypes.data) % 16
        table = np.array([at, 2, 16, 16, 0, 0], np.int64)
        out = np.zeros((16, 64), np.int8)
        copies[(1,)](table, (x,), out, 16, 64)  # any address will do on a CPU
        with pytest.raises(Exception, match="address is no multiple of 16 bytes"):
            copies[(1,)](table, (x,), out, 16, 64, debug=True)
        table[:] = at + 15, 2, 16, 17, 0, 0
        with pytest.raises(Exception, match="stride is no multiple of 16 bytes"):
            copies[(1,)](table, (x,), out, 16, 64, debug=True)


@tegula.jit
def far_window(x, out, first, n, M: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (first,), (M,), (0,))
    v = tl.load(p, boundary_check=(0,), padding_option="zero")
    tl.store(out + tl.arange(0, M), v)


@pytest.mark.parametrize("first", [2**31 - 8, 2**31 - 1, -(2**31), -3, 2, 2**31 + 1])
def test_offsets_at_the_end_of_32_bits(device, rng, first):
    x = rng.standard_normal(16).astype(np.float32)
    out = device.poison(16, np.float32)
    far_window[(1,)](device.put(x), out, first, 9, 16)
    at = np.arange(first, first + 16)
    inside = (at >= 0) & (at < 9)
    want = np.where(inside, x[np.clip(at, 0, 15)], 0)
    np.testing.assert_array_equal(device.get(out), want)
