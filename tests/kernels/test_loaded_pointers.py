"""Pointers that a kernel loads from a table: of tensors that are no arguments, as grouped
products have. Descriptors are made of them, too, and assembly follows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def grouped_product(table, sizes, n_groups, K: tl.constexpr, BLOCK: tl.constexpr):
    """c = a @ b for every group; programs take the tiles of all of them in turn."""
    tile = tl.program_id(0)
    before = 0
    for g in range(n_groups):
        m = tl.load(sizes + 2 * g)
        n = tl.load(sizes + 2 * g + 1)
        across = tl.cdiv(n, BLOCK)
        tiles = tl.cdiv(m, BLOCK) * across
        while tile >= before and tile < before + tiles:
            a = tl.load(table + 3 * g).to(tl.pointer_type(tl.float16))
            b = tl.load(table + 3 * g + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(table + 3 * g + 2).to(tl.pointer_type(tl.float16))
            i = (tile - before) // across * BLOCK + tl.arange(0, BLOCK)
            j = (tile - before) % across * BLOCK + tl.arange(0, BLOCK)
            acc = tl.zeros((BLOCK, BLOCK), tl.float32)
            for k in range(0, K, 16):
                kk = k + tl.arange(0, 16)
                x = tl.load(a + i[:, None] * K + kk, mask=i[:, None] < m, other=0.0)
                y = tl.load(b + kk[:, None] * n + j, mask=j < n, other=0.0)
                acc = tl.dot(x, y, acc)
            inside = (i[:, None] < m) & (j < n)
            tl.store(c + i[:, None] * n + j, acc.to(tl.float16), mask=inside)
            tile += tl.num_programs(0)
        before += tiles


def test_grouped_product(device: Any, rng: Any) -> None:
    shapes, k = [(16, 32), (5, 40), (33, 7)], 48
    groups = []
    for m, n in shapes:
        a = rng.integers(-3, 4, (m, k)).astype(np.float16)
        b = rng.integers(-3, 4, (k, n)).astype(np.float16)
        groups.append((a, b, np.zeros((m, n), np.float16)))
    there = [[device.put(x) for x in g] for g in groups]
    table = device.put(np.array([[device.address(x) for x in g] for g in there]))
    sizes = device.put(np.array(shapes, np.int32))
    grouped_product[(3,)](table, sizes, len(shapes), K=k, BLOCK=16)
    for (a, b, _), (_, _, c) in zip(groups, there, strict=True):
        want = a.astype(np.float32) @ b.astype(np.float32)
        np.testing.assert_array_equal(device.get(c), want.astype(np.float16))


@triton.jit
def by_descriptors(table, M: tl.constexpr, N: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    d = tl.make_tensor_descriptor(p, [M, N], [N, 1], [M // 2, N])
    for i in range(2):
        d.store([i * (M // 2), 0], 2 * d.load([i * (M // 2), 0]))


def test_descriptors(device: Any, rng: Any) -> None:
    blocks = [rng.standard_normal((16, 32)).astype(np.float32) for _ in range(3)]
    there = [device.put(b) for b in blocks]
    table = device.put(np.array([device.address(x) for x in there]))
    by_descriptors[(3,)](table, M=16, N=32)
    for b, x in zip(blocks, there, strict=True):
        np.testing.assert_array_equal(device.get(x), 2 * b)


@triton.jit
def by_assembly(table, N: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    tl.inline_asm_elementwise(
        "{ .reg .b32 t; ld.global.b32 t, [$1]; not.b32 t, t; st.global.b32 [$1], t; "
        "mov.b32 $0, t; }",
        "=r,l", [p + tl.arange(0, N)], tl.int32, False, 1,
    )  # fmt: skip


def test_assembly(device: Any, rng: Any) -> None:
    blocks = [rng.integers(0, 100, 64).astype(np.int32) for _ in range(2)]
    there = [device.put(b) for b in blocks]
    table = device.put(np.array([device.address(x) for x in there]))
    by_assembly[(2,)](table, N=64)
    for b, x in zip(blocks, there, strict=True):
        np.testing.assert_array_equal(device.get(x), ~b)


@triton.jit
def reaches(table, x, out, WHAT: tl.constexpr):
    p = tl.load(table).to(tl.pointer_type(tl.int32))
    if WHAT == "nowhere":
        tl.store(out, tl.sum(tl.load(p + 16 * tl.arange(0, 4))))
    elif WHAT == "assembly":
        v = tl.inline_asm_elementwise(
            "ld.global.b32 $0, [$1];", "=r,l", [p], tl.int32, False, 1
        )
        tl.store(out, v)
    else:  # of an argument, on a way round
        q = (x.to(tl.int64) + 4 * 64).to(tl.pointer_type(tl.int32))
        tl.store(out, tl.load(q))


@pytest.mark.parametrize("what", ["nowhere", "assembly", "argument"])
@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
def test_where_no_memory_is(target: str, what: str) -> None:
    """An error, not a signal; and an argument's pointer is held to the argument."""
    table, x, out = np.array([64]), np.zeros(64, np.int32), np.zeros(1, np.int32)
    kernel = triton.jit(reaches.fn, interpret=target == "interpreter")
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.check_bounds = True
        triton.knobs.runtime.target = target if "emu" in target else "cpu"
        with pytest.raises(
            triton.errors.OutOfBoundsError, match=r"4 bytes at|of element"
        ):
            kernel[(1,)](table, x, out, WHAT=what)
