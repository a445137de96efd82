"""Masked stores on a CPU write their elements, and nothing of a neighbour."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def narrowed(x_ptr, y_ptr, LANE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x, mask=i == LANE)


@pytest.mark.parametrize("lane", [0, 1, 7, 15])
@pytest.mark.parametrize("source", [np.float32, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16])
def test_neighbours_keep_theirs(lane: int, source: type, to: type) -> None:
    """LLVM 22 stored as many bytes as the element had before it was narrowed."""
    x = np.arange(-9, 7).astype(source)
    if to is np.uint8:
        x = abs(x)
    y = np.full(24, 99, to)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = False  # checks compute the mask at run time
        narrowed[(1,)](x, y, LANE=lane, N=16)
    want = np.full(24, 99, to)
    want[lane] = x[lane]
    np.testing.assert_array_equal(y, want)


@tegula.jit
def bytes_among_words(a_ptr, x_ptr, y_ptr, small_ptr, wide_ptr, real_ptr, n):
    row, col = tl.arange(0, 12)[:, None], tl.arange(0, 16)[None, :]
    at = row * 16 + col
    small = tl.flip(tl.load(a_ptr + at), 0)
    tl.debug_barrier()
    x = tl.load(x_ptr + at + n * 2).to(tl.uint64) & 15
    pick = tl.load(y_ptr + (at & 63)).to(tl.int1)
    z = tl.load(x_ptr + row * 64 + n + col, mask=row + n < 11)
    tl.store(wide_ptr + row * 10 + col, small.to(tl.int64), mask=col < 10)
    tl.store(small_ptr + at, small)
    tl.store(real_ptr + at, tl.where(pick, x.to(tl.float64), z.to(tl.float64)))


@pytest.mark.parametrize("checked", [False, True])
def test_eight_bytes_under_a_mask(rng, checked):
    """Words of 8 bytes make a row 8 lanes. A masked store of 8 bytes, whose mask LLVM had
    spilled, wrote 16: it took all masks of the checks for that."""
    a = rng.integers(1, 200, 192).astype(np.uint8)
    x = rng.integers(0, 100, 2000).astype(np.float32)
    y = rng.integers(0, 2, 64)
    small = np.full(200, 255, np.uint8)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.check_bounds = checked
        compiled = bytes_among_words[(1,)](
            a, x, y, small, np.zeros(192, np.int64), np.zeros(192), 4
        )
    np.testing.assert_array_equal(small[:192].reshape(12, 16), a.reshape(12, 16)[::-1])
    assert (small[192:] == 255).all()
    for line in compiled.asm["llir"].splitlines():
        assert "llvm.masked" not in line or "v8i8" not in line
