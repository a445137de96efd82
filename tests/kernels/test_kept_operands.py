"""Operands that a thread of the CPU keeps for its next programs (csrc/codegen/host/kept.c):
they are those that a program would have loaded itself, whatever the order of programs, and
nothing is kept of memory that a launch may change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tegula
import tegula.language as tl

KEEPS = "a thread keeps"
B = 32


@tegula.jit
def tile(a_ptr, b_ptr, pm, pn, M, N, K, a_m, a_k, b_k, b_n, B: tl.constexpr):
    m = pm * B + tl.arange(0, B)
    n = pn * B + tl.arange(0, B)
    k = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for first in range(0, K, B):
        at_k = first + k
        a = tl.load(
            a_ptr + m[:, None] * a_m + at_k[None, :] * a_k,
            mask=(m < M)[:, None] & (at_k < K)[None, :],
            other=0.0,
        )
        b = tl.load(
            b_ptr + at_k[:, None] * b_k + n[None, :] * b_n,
            mask=(at_k < K)[:, None] & (n < N)[None, :],
            other=0.0,
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    return acc, m, n


@tegula.jit
def product(
    a_ptr, b_ptr, c_ptr, order_ptr, M, N, K, a_m, a_k, b_k, b_n, B: tl.constexpr
):
    """One tile for each program, which is the next one of `order`."""
    pid = tl.load(order_ptr + tl.program_id(0))
    across = tl.cdiv(N, B)
    acc, m, n = tile(
        a_ptr, b_ptr, pid // across, pid % across, M, N, K, a_m, a_k, b_k, b_n, B
    )
    at = m[:, None] * N + n[None, :]
    tl.store(c_ptr + at, acc, mask=(m < M)[:, None] & (n < N)[None, :])


@tegula.jit
def wrapped(a_ptr, b_ptr, c_ptr, M, N, K, B: tl.constexpr):
    """As in the tutorials: rows beyond the end are others, and pointers move."""
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, B)
    a_ptrs = a_ptr + (m % M)[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + (n % N)[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for first in range(0, K, B):
        a = tl.load(a_ptrs, mask=k[None, :] < K - first, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - first, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += B
        b_ptrs += B * N
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=mask)


@pytest.fixture(params=[1, 2, 3], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.num_threads = request.param
        yield request.param


def whole(seed: int, *shape: int) -> np.ndarray:
    """Small whole numbers: their products are exact in any order."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def steps(x: np.ndarray) -> list[int]:
    return [s // x.itemsize for s in x.strides]


def base(x: np.ndarray) -> np.ndarray:
    return x.T if x.flags.f_contiguous else x


def multiply(a: np.ndarray, b: np.ndarray, order: np.ndarray) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    c = np.full((m, n), np.nan, np.float32)
    product[(len(order),)](
        base(a), base(b), c, order, m, n, k, *steps(a), *steps(b), B=B
    )
    return c


def tiles(*sides: int) -> int:
    return int(np.prod([tegula.cdiv(s, B) for s in sides]))


@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("m, n, k", [(96, 96, 96), (200, 70, 131), (33, 257, 40)])
@pytest.mark.parametrize("way", ["rows", "columns", "random"])
def test_any_order_of_programs(m, n, k, way, turned):
    a = whole(1, k, m).T if "a" in turned else whole(1, m, k)
    b = whole(2, n, k).T if "b" in turned else whole(2, k, n)
    order = np.arange(tiles(m, n), dtype=np.int32)
    if way == "columns":
        order = order.reshape(-1, tiles(n)).T.ravel().copy()
    if way == "random":
        order = np.random.default_rng(3).permutation(order)
    np.testing.assert_array_equal(multiply(a, b, order), a @ b)


def test_a_launch_begins_anew():
    """Nothing is left of what the memory held in the last launch."""
    a, b = whole(1, 128, 64), whole(2, 64, 64)
    order = np.arange(tiles(128, 64), dtype=np.int32)
    for seed in range(4):
        b[:] = whole(seed, 64, 64)
        np.testing.assert_array_equal(multiply(a, b, order), a @ b)
        if seed == 2:
            multiply(b, b, order[:4])


@pytest.mark.parametrize("m, n, k", [(96, 96, 96), (200, 70, 131), (33, 257, 40)])
def test_rows_that_wrap(m, n, k):
    a, b = whole(1, m, k), whole(2, k, n)
    for _ in range(2):
        c = np.full((m, n), np.nan, np.float32)
        wrapped[(tiles(m), tiles(n))](a, b, c, m, n, k, B=B)
        np.testing.assert_array_equal(c, a @ b)


def test_more_turns_than_slots():
    a, b = whole(1, 96, 9000), whole(2, 9000, 32)
    order = np.arange(3, dtype=np.int32)
    np.testing.assert_array_equal(multiply(a, b, order), a @ b)


@tegula.jit
def in_turns(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    """out[pid] = x[pid] @ y: where out is y, the next program multiplies by another y."""
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    x = tl.load(x_ptr + tl.program_id(0) * B * B + at)
    y = tl.load(y_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, y, input_precision="ieee"))


@tegula.jit
def in_turns_by_address(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    """The same with an address that was loaded, of which nobody knows where it leads."""
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    x = tl.load(x_ptr + tl.program_id(0) * B * B + at)
    y = tl.load(y_ptr + at)
    out = tl.load(out_ptr).to(tl.pointer_type(tl.float32))
    tl.store(out + at, tl.dot(x, y, input_precision="ieee"))


def rotations(n: int) -> np.ndarray:
    """n permutations: products of these stay small."""
    rng = np.random.default_rng(5)
    return np.stack([np.eye(B, dtype=np.float32)[rng.permutation(B)] for _ in range(n)])


def test_memory_that_the_launch_writes(threads):
    if threads > 1:
        pytest.skip("programs in turn")
    x, y = rotations(6), whole(1, B, B)
    want = y.copy()
    for one in x:
        want = one @ want
    shared = y.copy()
    in_turns[(6,)](x, shared, shared, B=B)
    np.testing.assert_array_equal(shared, want)
    # Views of one memory that begin at different places.
    memory = np.zeros(B * B + B, np.float32)
    memory[: B * B] = y.ravel()
    want = memory.copy()
    for one in x:
        want[B:] = (one @ want[: B * B].reshape(B, B)).ravel()
    in_turns[(6,)](x, memory[: B * B], memory[B:], B=B)
    np.testing.assert_array_equal(memory, want)


def test_memory_that_an_address_leads_to(threads):
    if threads > 1:
        pytest.skip("programs in turn")
    x, y = rotations(6), whole(1, B, B)
    want = y.copy()
    for one in x:
        want = one @ want
    address = np.array([y.ctypes.data], np.int64)
    in_turns_by_address[(6,)](x, y, address, B=B)
    np.testing.assert_array_equal(y, want)


@tegula.jit
def announced(x_ptr, y_ptr, out_ptr, count_ptr, B: tl.constexpr):
    """A kernel with an atomic may be told by others that memory has changed."""
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    tl.atomic_add(count_ptr, 1)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, y))


@tegula.jit
def used_twice(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + tl.program_id(0) * B * B + at, tl.dot(x, y) + x + y)


def test_what_is_kept_is_told():
    pointers = ["*fp32"] * 3
    for kernel, types, keeps in [
        (in_turns, pointers, True),
        (wrapped, [*pointers, "i32", "i32", "i32"], True),
        (in_turns_by_address, [*pointers[:2], "*i64"], False),
        (announced, [*pointers, "*i32"], False),
        (used_twice, pointers, False),
    ]:
        report = kernel.compile(*types, B=B, target="cpu").report
        assert (KEEPS in str(report)) == keeps, kernel


def test_checked_bounds_keep_nothing():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = True
        report = in_turns.compile(*["*fp32"] * 3, B=B, target="cpu").report
        assert KEEPS not in str(report)
