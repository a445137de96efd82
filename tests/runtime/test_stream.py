"""Stores past the caches: taken where a launch writes much and reads none of it."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import tegula
import tegula.language as tl

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="stores past the caches are x86's"
)


@pytest.fixture(autouse=True)
def always():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.stream_bytes = 1
        yield


@tegula.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@tegula.jit
def rows(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n)
        tl.store(y + row * n + i, v + 1, mask=i < n)


@tegula.jit
def tiles(x, y, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + i, tl.load(x + i) + 1)


@tegula.jit
def in_place(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) + 1)


@tegula.jit
def read_back(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))
    tl.debug_barrier()
    tl.store(x + i, tl.load(y + i) + 1)


@tegula.jit
def flagged(x, y, flag, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))
    tl.atomic_add(flag, 1)


@tegula.jit
def sometimes(x, y, c, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if c > 0:
        tl.store(y + i, tl.load(x + i))


def streams(compiled) -> bool:
    return "!nontemporal" in compiled.asm["llir"]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u2", "i8", "u1"])
@pytest.mark.parametrize("n", [1, 63, 64, 1000, 4096, 5001])
@pytest.mark.parametrize("offset", [0, 1, 3, 4])
def test_every_size_and_start(dtype, n, offset):
    x = np.arange(n + 80).astype(dtype)[offset : offset + n]
    whole = np.full(n + 80, 77, dtype)
    y = whole[offset : offset + n]
    compiled = twice[(tegula.cdiv(n, 256),)](x, y, n, BLOCK=256)
    assert streams(compiled)
    assert y.tobytes() == (x.astype("i8") * 2).astype(dtype).tobytes()
    assert (whole[:offset] == whole[-1]).all() and (
        whole[offset + n :] == whole[-1]
    ).all()


@pytest.mark.parametrize("n", [1, 100, 512, 1031])
def test_in_a_loop(n):
    x = np.random.default_rng(0).random((33, n), np.float32)
    y = np.empty_like(x)
    # A row of one known element has no step of whole registers. Whether their code is left
    # is LLVM's affair, and differs from CPU to CPU.
    assert streams(rows[(33,)](x, y, n, BLOCK=128)) or n == 1
    assert (y == x + 1).all()


def test_of_tiles():
    x = np.random.default_rng(0).random((16, 64), np.float32)
    y = np.empty_like(x)
    assert streams(tiles[(1,)](x, y, M=16, N=64))
    assert (y == x + 1).all()


def test_who_reads_what_it_writes_uses_the_caches():
    x = np.zeros(1024, np.float32)
    assert not streams(in_place[(4,)](x, BLOCK=256))
    assert (x == 1).all()
    assert not streams(read_back[(4,)](x, np.empty_like(x), BLOCK=256))
    assert (x == 2).all()


def test_who_may_be_waited_for_uses_the_caches():
    x, flag = np.arange(1024, dtype=np.float32), np.zeros(1, np.int32)
    y = np.empty_like(x)
    assert not streams(flagged[(4,)](x, y, flag, BLOCK=256))
    assert flag[0] == 4 and (x == y).all()


def test_a_store_that_may_not_run_does_not_count():
    x = np.arange(1024, dtype=np.float32)
    y = np.empty_like(x)
    assert not streams(sometimes[(4,)](x, y, 2, BLOCK=256))
    assert (x == y).all()


def test_small_launches_and_large_ones_are_one_variant():
    n = 1 << 20
    x, y = np.arange(n, dtype=np.float32), np.empty(n, np.float32)
    made = set()
    for limit in (0, 1, 4 * n, 4 * n + 1, 2**62):
        tegula.knobs.runtime.stream_bytes = limit
        y[:] = 0
        made.add(id(twice[(n // 1024,)](x, y, n, BLOCK=1024)))
        assert (y == 2 * x).all()
    assert len(made) == 1
