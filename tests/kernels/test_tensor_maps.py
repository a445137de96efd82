"""What descriptors access, moved by the GPU's copies of tensors: every rank and size of
element, borders on all sides, and launches that have no tensor map."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl
from tegula.tools.tensor_descriptor import TensorDescriptor

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


def loads_of(compiled: Any) -> int:
    return compiled.asm["ptx"].count(".mbarrier::complete_tx::bytes [")


def stores_of(compiled: Any) -> int:
    return compiled.asm["ptx"].count(".tile.bulk_group [")


def put(x: np.ndarray) -> Any:
    return simulated.put(x, TARGET)


@tegula.jit
def copy(x, y, i, j, k, RANK: tl.constexpr):
    """The block of x at (i, j, .., k), to the same place in y."""
    if RANK == 1:
        y.store([k], x.load([k]))
    elif RANK == 2:
        y.store([i, k], x.load([i, k]))
    elif RANK == 3:
        y.store([i, j, k], x.load([i, j, k]))
    elif RANK == 4:
        y.store([i, j, j, k], x.load([i, j, j, k]))
    else:
        y.store([i, j, j, j, k], x.load([i, j, j, j, k]))


def filled(rng: np.random.Generator, shape: tuple, dtype: Any) -> np.ndarray:
    x = rng.integers(0, 100, shape)
    return x.astype(dtype)


def block_at(x: np.ndarray, at: tuple, block: tuple, pad: Any) -> np.ndarray:
    out = np.full(block, pad, x.dtype)
    for index in np.ndindex(*block):
        there = tuple(a + i for a, i in zip(at, index, strict=True))
        if all(0 <= t < n for t, n in zip(there, x.shape, strict=True)):
            out[index] = x[there]
    return out


def stored_at(y: np.ndarray, at: tuple, v: np.ndarray) -> np.ndarray:
    y = y.copy()
    for index in np.ndindex(*v.shape):
        there = tuple(a + i for a, i in zip(at, index, strict=True))
        if all(0 <= t < n for t, n in zip(there, y.shape, strict=True)):
            y[there] = v[index]
    return y


def coordinates(rank: int, i: int, j: int, k: int) -> tuple:
    return {1: (k,), 2: (i, k)}.get(rank, (i, *[j] * (rank - 2), k))


BLOCKS = {
    1: [(16,), (128,), (2048,)],
    2: [(1, 64), (4, 16), (8, 128), (64, 32), (512, 16), (2, 512)],
    3: [(4, 2, 16), (2, 8, 64)],
    4: [(2, 1, 4, 32)],
    5: [(2, 1, 2, 4, 16), (1, 2, 4, 2, 64)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["u1", "f2", "i2", "f4", "i4", "f8", "i8"])
@pytest.mark.parametrize("block", [b for r in BLOCKS for b in BLOCKS[r]], ids=str)
def test_copy(block: tuple, dtype: str, rng: np.random.Generator) -> None:
    rank, elem = len(block), np.dtype(dtype)
    unit = 16 // elem.itemsize
    if np.prod(block) * elem.itemsize > 32 << 10:
        pytest.skip("no block of so many bytes is moved by copies of tensors")
    # Two blocks in each direction, and a piece; rows are multiples of 16 bytes.
    shape = [min(2 * b + 1, b + 5) for b in block]
    rows = -(-shape[-1] // unit) * unit
    x, y = (
        filled(rng, (*shape[:-1], rows), elem),
        filled(rng, (*shape[:-1], rows), elem),
    )
    there = put(x), put(y)
    nan = elem.kind == "f" and bool(rng.integers(2))
    strides = [s // elem.itemsize for s in x.strides]
    descs = [
        TensorDescriptor(
            t, shape, strides, list(block), "nan" if nan and n == 0 else "zero"
        )
        for n, t in enumerate(there)
    ]
    inner = x[..., : shape[-1]]
    expect = y.copy()
    for n in range(4):
        last = (shape[-1] - 3) // 16 * 16
        i, j, k = [(0, 0, 0), (-1, 1, -16), (shape[0] - 1, -2, last), (3, 2, 16)][n]
        c = copy[(1,)](*descs, i, j, k, RANK=rank, num_warps=4, hopper="3")
        assert loads_of(c) and stores_of(c)
        at = coordinates(rank, i, j, k)
        v = block_at(inner, at, block, np.nan if nan else 0)
        expect[..., : shape[-1]] = stored_at(expect[..., : shape[-1]], at, v)
    np.testing.assert_array_equal(there[1].numpy(), expect)


@pytest.mark.parametrize("k", [1, -3, 4, 20])
def test_no_copy_begins_amid_16_bytes(k: int, rng: np.random.Generator) -> None:
    """A chip refuses such copies as illegal instructions."""
    x, y = (filled(rng, (16, 64), np.dtype("f2")) for _ in range(2))
    there = put(x), put(y)
    descs = [TensorDescriptor(t, [16, 64], [64, 1], [8, 32]) for t in there]
    c = copy[(1,)](*descs, 2, 0, k, RANK=2, num_warps=4, hopper="3")
    assert not loads_of(c) and not stores_of(c)
    v = block_at(x, (2, k), (8, 32), 0)
    np.testing.assert_array_equal(there[1].numpy(), stored_at(y, (2, k), v))


@tegula.jit
def walk(x_ptr, y_ptr, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    """Descriptors made in the kernel, in a loop that uses one place again and again; column
    sums through the same shared memory."""
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [stride, 1], [BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [stride, 1], [BM, BN])
    i = tl.program_id(0) * BM
    for j in range(0, n, BN):
        v = x.load([i, j])
        sums = tl.sum(v, axis=0)
        y.store([i, j], v + sums[None, :] + j)


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8])
@pytest.mark.parametrize("m, n", [(64, 64), (50, 100), (1, 1)])
def test_loop(m: int, n: int, num_warps: int, rng: np.random.Generator) -> None:
    stride, BM, BN = -(-n // 4) * 4, 16, 32
    x = np.full((m, stride), 77, np.float32)
    x[:, :n] = rng.integers(-8, 8, (m, n))
    y = put(np.full_like(x, np.nan))
    c = walk[(tegula.cdiv(m, BM),)](
        put(x), y, m, n, stride, BM=BM, BN=BN, num_warps=num_warps, hopper="3"
    )
    assert loads_of(c) and stores_of(c)
    expect = np.full_like(x, np.nan)
    for i, j in product(range(0, m, BM), range(0, n, BN)):
        rows, cols = slice(i, min(i + BM, m)), slice(j, min(j + BN, n))
        v = x[rows, cols]
        expect[rows, cols] = v + v.sum(axis=0) + j
    np.testing.assert_array_equal(y.numpy(), expect)


@tegula.jit
def product_of(a, b, c, K, BK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([i, k]), b.load([k, j]), acc)
    c.store([i, j], acc.to(tl.float16))


def test_product(rng: np.random.Generator) -> None:
    M, N, K, BM, BN, BK = 120, 88, 104, 64, 64, 32
    a = (rng.integers(-4, 5, (M, K)) / 4).astype(np.float16)
    b = (rng.integers(-4, 5, (K, N)) / 4).astype(np.float16)
    c = put(np.full((M, N), np.nan, np.float16))
    grid = tegula.cdiv(M, BM), tegula.cdiv(N, BN)
    run = product_of[grid](
        TensorDescriptor(put(a), [M, K], [K, 1], [BM, BK]),
        TensorDescriptor(put(b), [K, N], [N, 1], [BK, BN]),
        TensorDescriptor(c, [M, N], [N, 1], [BM, BN]),
        K, BK=BK, BM=BM, BN=BN, num_warps=4, hopper="3",
    )  # fmt: skip
    assert loads_of(run) and stores_of(run)
    expect = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(c.numpy(), expect)


@tegula.jit
def shifted(x_ptr, y_ptr, m, n, more, B: tl.constexpr):
    """Sizes and strides that a launch computes: of the tensor without its last rows, with
    `more` numbers behind each row."""
    row = tl.cdiv(n, 4) * 4 + more
    x = tl.make_tensor_descriptor(
        x_ptr + row,
        [tl.maximum(m - 2, 0) + tl.num_programs(1) - 1, n],
        [row, 1],
        [B, B],
    )
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n // 4 * 4 + more, 1], [B, B])
    i = tl.program_id(0) * B
    y.store([i, 0], x.load([i, 0]) + 1)


def run_shifted(kernel: Any, x: Any, y: Any, m: int, n: int, more: int) -> Any:
    return kernel[(tegula.cdiv(max(m, 1), 16), 1)](
        x, y, m, n, more, B=16, num_warps=1, hopper="3"
    )


def test_computed_sizes(rng: np.random.Generator) -> None:
    m, n, more = 21, 12, 4
    x = rng.integers(-8, 8, (m, n + more)).astype(np.float32)
    y = put(np.full((m, n + more), np.nan, np.float32))
    c = run_shifted(shifted, put(x), y, m, n, more)
    assert loads_of(c) == 1 and stores_of(c) == 1
    expect = np.full_like(x, np.nan)
    expect[:, :n] = 1
    expect[: m - 2, :n] += x[1 : m - 1, :n]
    np.testing.assert_array_equal(y.numpy(), expect)


def test_nothing_to_copy(compiles: list) -> None:
    """A tensor without elements has no tensor map: the launch has other code."""
    y = put(np.full((4, 16), np.nan, np.float32))
    kernel = tegula.jit(shifted.fn)  # nobody else has compiled
    c = run_shifted(kernel, put(np.zeros((4, 16), np.float32)), y, 2, 12, 4)
    assert loads_of(c)
    expect = np.full((4, 16), np.nan, np.float32)
    expect[:2, :12] = 1
    np.testing.assert_array_equal(y.numpy(), expect)
    assert len(compiles) == 2
    run_shifted(kernel, put(np.zeros((4, 16), np.float32)), y, 2, 12, 4)
    assert len(compiles) == 2


def test_in_place(rng: np.random.Generator, compiles: list) -> None:
    """What the kernel stores elsewhere in the same memory, copies would not see."""
    x = rng.integers(-8, 8, (32, 16)).astype(np.float32)
    there = put(x)
    c = tegula.jit(copy.fn)[(1,)](
        *[TensorDescriptor(there, [32, 16], [16, 1], [16, 16])] * 2,
        0, 0, 0, RANK=2, hopper="3",
    )  # fmt: skip
    assert loads_of(c)
    np.testing.assert_array_equal(there.numpy(), x)


def test_unaligned(rng: np.random.Generator) -> None:
    """Known when the kernel is compiled: another variant, without maps."""
    x = rng.integers(-8, 8, (16 * 33,)).astype(np.float32)
    y = put(np.full((16, 32), np.nan, np.float32))
    for start, n_loads in ((1, 0), (4, 1)):
        there = put(x)[start:]
        c = walk[(1,)](there, y, 16, 32, 32, BM=16, BN=32, num_warps=1, hopper="3")
        assert loads_of(c) == n_loads
        v = x[start : start + 512].reshape(16, 32)
        np.testing.assert_array_equal(y.numpy(), v + v.sum(axis=0))


@tegula.jit
def in_turn(x_ptr, y_ptr, B: tl.constexpr):
    """The second load reads what the first store wrote, by another way."""
    x = tl.make_tensor_descriptor(x_ptr, [B, B], [B, 1], [B, B])
    y = tl.make_tensor_descriptor(y_ptr, [B, B], [B, 1], [B, B])
    v = x.load([0, 0])
    y.store([0, 0], v)
    i = tl.arange(0, B)
    tl.store(x_ptr + i, tl.load(y_ptr + i * B) + 1)


def test_mixed_accesses(rng: np.random.Generator) -> None:
    x = rng.integers(-8, 8, (16, 16)).astype(np.float32)
    there, y = put(x), put(np.full_like(x, np.nan))
    c = in_turn[(1,)](there, y, B=16, num_warps=1, hopper="3")
    assert not loads_of(c) and not stores_of(c)
    assert "accessed in another way" in c.report
    np.testing.assert_array_equal(there.numpy()[0], x[:, 0] + 1)


def test_plain_abi(rng: np.random.Generator) -> None:
    """For launchers that hand on the kernel's own parameters alone."""
    x = rng.integers(-8, 8, (16, 32)).astype(np.float32)
    y = put(np.full_like(x, np.nan))
    c = walk[(1,)](
        put(x), y, 16, 32, 32, BM=16, BN=32, num_warps=1, hopper="3", abi="plain"
    )
    assert not loads_of(c) and not stores_of(c)
    np.testing.assert_array_equal(y.numpy(), x + x.sum(axis=0))


def test_from_disk(rng: np.random.Generator, tmp_path: Path) -> None:
    x = rng.integers(-8, 8, (16, 32)).astype(np.float32)
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        for from_disk in (False, True):
            kernel = tegula.jit(walk.fn)
            y = put(np.full_like(x, np.nan))
            c = kernel[(1,)](
                put(x), y, 16, 32, 32, BM=16, BN=32, num_warps=1, hopper="3"
            )
            assert loads_of(c) and c.metadata.from_disk is from_disk
            np.testing.assert_array_equal(y.numpy(), x + x.sum(axis=0))
