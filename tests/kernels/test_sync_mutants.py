"""Every fence, wait, arrival, slot and phase of kernels by warpgroups and by roles, removed
or changed one at a time: the engine of PTX tells, in at most eight orders of the warps."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from functools import cache, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import mutants
import numpy as np
import pytest
import simulated
import test_persistent
import test_roles
import test_shared_k
from mutants import Subject

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def grouped(
    a_ptr, b_ptr, starts_ptr, c_ptr, G, T, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Rows starts[g] to starts[g + 1] of A, times the transpose of B[g]."""
    n = tl.program_id(0) * BN
    a = tl.make_tensor_descriptor(a_ptr, [T, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [G * N, K], [K, 1], [BN, BK])
    i, j = tl.arange(0, BM), n + tl.arange(0, BN)
    for g in range(G):
        first, end = tl.load(starts_ptr + g), tl.load(starts_ptr + g + 1)
        for m in range(first, end, BM):
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                acc = tl.dot(a.load([m, k]), b.load([g * N + n, k]).T, acc)
            rows = (m + i)[:, None]
            tl.store(c_ptr + rows * N + j[None, :], acc, mask=rows < end)


@tegula.jit
def by_words(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    """tf32. B is row-major, so its slots are read word by word."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, 32])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [32, BN])
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    for n in range(0, N, BN):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, 32):
            acc = tl.dot(a.load([0, k]), b.load([k, n]), acc)
        tl.store(c_ptr + i[:, None] * N + n + j[None, :], acc)


@tegula.jit
def of_bytes(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, 128])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, 128])
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    for n in range(0, N, BN):
        acc = tl.zeros((BM, BN), tl.int32)
        for k in range(0, K, 128):
            acc = tl.dot(a.load([0, k]), b.load([n, k]).T, acc)
        tl.store(c_ptr + i[:, None] * N + n + j[None, :], acc)


@tegula.jit
def attention_in_turn(
    q_ptr, k_ptr, v_ptr, o_ptr, N, N_KEYS,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """All rows by one program, so that the slots of Q and the stage of the result are used
    again and again."""
    queries = tl.make_tensor_descriptor(q_ptr, [N, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k_ptr, [N, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v_ptr, [N, D], [D, 1], [BN, D])
    out = tl.make_tensor_descriptor(o_ptr, [N, D], [D, 1], [BM, D])
    for m in range(0, N, BM):
        q = queries.load([m, 0])
        rows = m + tl.arange(0, BM)
        top = tl.full((BM,), -1e6, tl.float32)
        total = tl.full((BM,), 1e-30, tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        begin = m if CAUSAL else N_KEYS
        top, total, acc = test_roles.attend(
            q, keys, values, top, total, acc, 0, begin, rows, N, BN, False
        )
        if CAUSAL:
            top, total, acc = test_roles.attend(
                q, keys, values, top, total, acc, m, m + BM, rows, N, BN, True
            )
        out.store([m, 0], (acc / total[:, None]).to(tl.float16))


@tegula.jit
def two_products(
    a_ptr, b_ptr, d_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """c = a @ b + 2 * (a @ d). Who fills waits for B's slot first. A's is given back behind
    both products, and behind a wait for it nobody could tell when B's was."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    d = tl.make_tensor_descriptor(d_ptr, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    for n in range(0, N, BN):
        x = tl.zeros((BM, BN), tl.float32)
        y = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            columns = b.load([k, n])
            rows = a.load([0, k])
            x = tl.dot(rows, columns, x)
            y = tl.dot(rows, d.load([k, n]), y)
        c.store([0, n], (x + 2 * y).to(tl.float16))


@tegula.jit
def halves_in_turn(
    a_ptr, b_ptr, r_ptr, e_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Three stores share a stage: two halves in two pieces each, and a sum in one. The
    load of what is added to the second half works in it, too."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    r = tl.make_tensor_descriptor(r_ptr, [M, N], [N, 1], [BM, BN // 2])
    e = tl.make_tensor_descriptor(e_ptr, [M, N // 2], [N // 2, 1], [BM, BN // 2])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN // 2])
    for n in range(0, N, BN):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([0, k]), b.load([n, k]).T, acc)
        x, y = tl.split(acc.reshape(BM, 2, BN // 2).permute(0, 2, 1))
        c.store([0, n], x.to(tl.float16))
        e.store([0, n // 2], ((x + y) / 64).to(tl.int8))
        y += r.load([0, n + BN // 2])
        c.store([0, n + BN // 2], y.to(tl.float16))


@tegula.jit
def added(
    a_ptr, b_ptr, r_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """a @ b.T + r, whose load works where pieces of the program before are sent from."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    r = tl.make_tensor_descriptor(r_ptr, [M, N], [N, 1], [BM, BN])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], (acc + r.load([m, n])).to(tl.float16))


@tegula.jit
def backward_in_turn(
    q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, N, N_KEYS,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """s @ v + s * (do @ v.T) @ k with s = q @ k.T: two products begin side by side,
    and two more read the same tiles. V's slot is given back first, and who fills waits for
    it first."""
    queries = tl.make_tensor_descriptor(q_ptr, [N, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k_ptr, [N, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v_ptr, [N, D], [D, 1], [BN, D])
    grads = tl.make_tensor_descriptor(do_ptr, [N, D], [D, 1], [BM, D])
    i, d = tl.arange(0, BM), tl.arange(0, D)
    for m in range(0, N, BM):
        q, do = queries.load([m, 0]), grads.load([m, 0])
        x = tl.zeros((BM, D), tl.float32)
        y = tl.zeros((BM, D), tl.float32)
        for n in range(0, N_KEYS, BN):
            v = values.load([n, 0])
            k = keys.load([n, 0])
            s = tl.dot(q, k.T) * 0.125
            x += tl.dot(s.to(tl.float16), v)
            y += tl.dot((s * tl.dot(do, v.T)).to(tl.float16), k)
        tl.store(dq_ptr + (m + i)[:, None] * D + d[None, :], x + y)


@tegula.jit
def weights_of_bytes(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """b is of int8, which threads convert: a comes by a ring, b by all threads' copies."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    for n in range(0, N, BN):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            at = (k + tl.arange(0, BK))[:, None] * N + n + j[None, :]
            acc = tl.dot(a.load([0, k]), tl.load(b_ptr + at).to(tl.float16), acc)
        tl.store(c_ptr + i[:, None] * N + n + j[None, :], acc)


@tegula.jit
def paired(
    a_ptr, b_ptr, c_ptr, Z, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TURNED: tl.constexpr,
):  # fmt: skip
    """Z matrices A times the same B; programs go along columns of tiles."""
    pid = tl.program_id(0)
    m, n = pid % tl.cdiv(M, BM) * BM, pid // tl.cdiv(M, BM) * BN
    a = tl.make_tensor_descriptor(a_ptr, [Z * M, K], [K, 1], [BM, BK])
    if TURNED:
        b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    i, j = m + tl.arange(0, BM), n + tl.arange(0, BN)
    for z in range(Z):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            x = a.load([z * M + m, k])
            if TURNED:
                y = b.load([n, k]).T
            else:
                y = b.load([k, n])
            acc = tl.dot(x, y, acc)
        tl.store(c_ptr + (z * M + i)[:, None] * N + j[None, :], acc)


def whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def subject(kernel: Any, grid: tuple, arrays: list, want: np.ndarray, *rest: Any,
            close: float = 0, blocks: int = 0, **options: Any) -> Subject:  # fmt: skip
    """The last array is the result."""
    there = [simulated.put(x, TARGET) for x in arrays]

    def launch(warm: bool = False, **more: Any) -> Any:
        if warm:
            return kernel.warmup(*there, *rest, grid=grid, **options, **more)
        return kernel[grid](*there, *rest, **options, **more)

    def is_right() -> bool:
        got = there[-1].numpy().astype(np.float64)
        return np.allclose(got, want, rtol=close, atol=close)

    return Subject(launch, there[-1:], is_right, blocks)


def attention(
    causal: bool,
    warps: int,
    D: int = 32,
    BN: int = 16,
    tiles: int = 2,
    keys: int = 0,
    **options: Any,
) -> Subject:
    """Once more without keys, if there may be none: each warp has waited for Q before it is
    given back, and no product of all four says so then."""
    rows, n = 16 * warps, 16 * warps * tiles
    keys = keys or n
    q, k, v = whole(2, n, D), whole(3, n, D), whole(4, n, D)
    s = q.astype(np.float64) @ k[:keys].astype(np.float64).T
    if causal:
        s = np.where(np.tri(n, dtype=bool), s, -np.inf)
    p = np.exp2((s - s.max(1, keepdims=True)) * 0.1)
    want = p / p.sum(1, keepdims=True) @ v[:keys].astype(np.float64)

    def of(n_keys: int, want: np.ndarray) -> Subject:
        out = np.full((n, D), np.nan, np.float16)
        return subject(
            attention_in_turn, (1,), [q, k, v, out], want, n, n_keys, close=2e-2,
            BM=rows, BN=BN, D=D, CAUSAL=causal, num_warps=warps, **options,
        )  # fmt: skip

    return of(n, want) if causal else of(keys, want).beside(of(0, 0 * want))


def matmul(warps: int, **options: Any) -> Subject:
    m, n, k = 16 * warps, 128, 320
    a, b = whole(0, m, k), whole(1, n, k)
    want = (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16)
    out = np.full((m, n), np.nan, np.float16)
    return subject(
        test_roles.persistent_matmul, (1,), [a, b, out], want, m, n, k, BM=m, BN=64,
        BK=64, PROGRAMS=1, num_warps=warps, **options,
    )  # fmt: skip


def matmul_by_words() -> Subject:
    m, n, k = 64, 256, 160
    a, b = (
        whole(i, *side).astype(np.float32) for i, side in ((0, (m, k)), (1, (k, n)))
    )
    out = np.full((m, n), np.nan, np.float32)
    return subject(
        by_words, (1,), [a, b, out], a.astype(np.float64) @ b, m, n, k, BM=m, BN=128,
        num_warps=8, hopper="3,3",
    )  # fmt: skip


def matmul_of_bytes(warps: int, **options: Any) -> Subject:
    m, n, k = 16 * warps, 128, 640
    a, b = (
        25 * whole(i, *side).astype(np.int8) for i, side in ((0, (m, k)), (1, (n, k)))
    )
    want = a.astype(np.int64) @ b.astype(np.int64).T
    s = subject(
        of_bytes, (1,), [a, b, np.zeros((m, n), np.int32)], want, m, n, k, BM=m, BN=64,
        num_warps=warps, **options,
    )  # fmt: skip
    assert "k32.s32.s8.s8" in s.ptx
    return s


def by_groups(warps: int, **options: Any) -> Subject:
    rows, starts = 16 * warps, np.array([0, 70, 70, 200], np.int32)
    a, b = whole(0, 200, 320), whole(1, 3, 64, 320)
    parts = pairwise(starts)
    want = np.concatenate(
        [a[s:e].astype(float) @ b[g].astype(float).T for g, (s, e) in enumerate(parts)]
    )
    out = np.full((200, 64), np.nan, np.float32)
    return subject(
        grouped, (1,), [a, b, starts, out], want, 3, 200, 64, 320, BM=rows, BN=64,
        BK=64, num_warps=warps, **options,
    )  # fmt: skip


def gated(warps: int, **options: Any) -> Subject:
    """Two products have a tile in common, and stay open together."""
    m, n, k = 16 * warps, 128, 320
    a, b, d = whole(0, m, k), whole(1, k, n), whole(2, k, n)
    x, y, z = (v.astype(np.float64) for v in (a, b, d))
    want = (x @ y + 2 * (x @ z)).astype(np.float16)
    out = np.full((m, n), np.nan, np.float16)
    return subject(
        two_products, (1,), [a, b, d, out], want, m, n, k, BM=m, BN=64,
        BK=64, num_warps=warps, **options,
    )  # fmt: skip


def halves(warps: int, **options: Any) -> Subject:
    m, n, k = 16 * warps, 512, 320
    a, b, r = whole(0, m, k), whole(1, n, k), whole(2, m, n)
    want = (a.astype(np.float64) @ b.astype(np.float64).T).reshape(m, 2, 2, n // 4)
    sums = (want.sum(2) / 64).reshape(m, n // 2).astype(np.int8)
    want = (want + r.reshape(want.shape) * [[0], [1]]).reshape(m, n)
    outs = [np.zeros((m, n // 2), np.int8), np.full((m, n), np.nan, np.float16)]
    there = [simulated.put(x, TARGET) for x in (a, b, r, *outs)]

    def launch(warm: bool = False, **more: Any) -> Any:
        args = *there, m, n, k
        options.update(BM=m, BN=256, BK=64, num_warps=warps)
        if warm:
            return halves_in_turn.warmup(*args, grid=(1,), **options, **more)
        return halves_in_turn[(1,)](*args, **options, **more)

    def is_right() -> bool:
        e, c = (x.numpy() for x in there[-2:])
        return np.array_equal(e, sums) and np.array_equal(c, want.astype(np.float16))

    s = Subject(launch, there[-2:], is_right)
    text = s.compiled.asm["simt"]
    places = re.findall(r"map_(?:load|store) .*shared\(at=(\d+)", text)
    assert len(places) == 4 and len(set(places)) == 1
    return s


def backward(warps: int, **options: Any) -> Subject:
    """Once more without keys, as attention."""
    m, n, d = 16 * warps, 256, 32
    q, k, v, do = (whole(i, n, d) for i in range(4))
    x, y, z, w = (a.astype(np.float64) for a in (q, k, v, do))
    s = x @ y.T * 0.125
    want = s @ z + (s * (w @ z.T)) @ y

    def of(n_keys: int, want: np.ndarray) -> Subject:
        out = np.full((n, d), np.nan, np.float32)
        return subject(
            backward_in_turn, (1,), [q, k, v, do, out], want, n, n_keys, BM=m, BN=16, D=d,
            num_warps=warps, close=8, **options,
        )  # fmt: skip

    return of(n, want).beside(of(0, 0 * want))


def by_bytes(warps: int, **options: Any) -> Subject:
    m, n, k = 16 * warps, 128, 448
    a, b = whole(0, m, k), whole(1, k, n).astype(np.int8)
    want = a.astype(np.float64) @ b.astype(np.float64)
    out = np.full((m, n), np.nan, np.float32)
    return subject(
        weights_of_bytes, (1,), [a, b, out], want, m, n, k, BM=m, BN=64, BK=64,
        num_warps=warps, num_stages=3, **options,
    )  # fmt: skip


def by_shares(warps: int, shares: int, **options: Any) -> Subject:
    """Blocks of a cluster share the iterations of each of two programs; once more with
    fewer iterations than blocks."""
    bm, bn, bk = 16 * warps, 64, 64
    m, n, k = bm, 2 * bn, (4 * shares + 3) * bk
    a, b = whole(0, m, k), whole(1, n, k)

    def of(first: int, last: int) -> Subject:
        part = slice(first * bk, last * bk)
        want = a[:, part].astype(np.float64) @ b[:, part].astype(np.float64).T
        out = np.full((m, n), np.nan, np.float16)
        return subject(
            test_shared_k.product, (1, 2), [a, b, out], want, m, n, k, first, last, BM=bm,
            BN=bn, BK=bk, HOW="", num_warps=warps, split_k=str(shares), **options,
        )  # fmt: skip

    s = of(2, 4 * shares + 3).beside(of(2, 3))
    assert f".reqnctapercluster {shares}" in s.ptx
    return s


def in_turn(
    warps: int, *launches: tuple[int, int], blocks: int = 4, **options: Any
) -> Subject:
    """So many programs of so many iterations, one after the other on a block. They store
    a tile through a stage in the next one's iterations, a piece each: what is left of its
    two pieces goes behind the loop. Strips take what is left of a round of the chip's 16
    multiprocessors where that is at most half."""
    bm, bn, bk = 16 * warps, 128, 64

    def of(x: int, n_k: int) -> Subject:
        a, b = whole(0, x * bm, n_k * bk), whole(1, bn, n_k * bk)
        want = (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16)
        out = np.full((x * bm, bn), np.nan, np.float16)
        return subject(
            test_persistent.products, (x, 1, 1), [a, b, out], want, x * bm, bn, n_k * bk,
            BM=bm, BN=bn, BK=bk, num_warps=warps, persistent="1", blocks=blocks, **options,
        )  # fmt: skip

    first, *more = (of(*numbers) for numbers in launches)
    return reduce(Subject.beside, more, first)


def added_in_turn(warps: int, **options: Any) -> Subject:
    bm, bn, bk, x = 16 * warps, 128, 64, 5

    def of(n_k: int) -> Subject:
        a, b = whole(0, x * bm, n_k * bk), whole(1, bn, n_k * bk)
        r = whole(2, x * bm, bn)
        want = (a.astype(np.float64) @ b.astype(np.float64).T + r).astype(np.float16)
        out = np.full((x * bm, bn), np.nan, np.float16)
        return subject(
            added, (x, 1), [a, b, r, out], want, x * bm, bn, n_k * bk, BM=bm, BN=bn,
            BK=bk, num_warps=warps, persistent="1", blocks=2, **options,
        )  # fmt: skip

    return of(3).beside(of(1))


def by_pairs(warps: int, bn: int, turned: bool, **options: Any) -> Subject:
    """Neighbouring programs bring a tile of B each for both, but for the second pair, whose
    programs want two."""
    m, n, k, z = 16 * warps * 3, 2 * bn, 256, 2
    a, b = whole(0, z * m, k), whole(1, *((n, k) if turned else (k, n)))
    want = a.astype(np.float64) @ (b.T if turned else b).astype(np.float64)
    out = np.full((z * m, n), np.nan, np.float32)
    return subject(
        paired, (6,), [a, b, out], want, z, m, n, k, BM=16 * warps, BN=bn, BK=64,
        TURNED=turned, num_warps=warps, multicast="1", **options,
    )  # fmt: skip


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "matmul, one group": lambda: matmul(4, hopper="3,3"),
    "matmul, two groups": lambda: matmul(8, hopper="3,3"),
    "matmul by words": matmul_by_words,
    "matmul of bytes, one group": lambda: matmul_of_bytes(4, hopper="3,3"),
    "matmul of bytes, two groups": lambda: matmul_of_bytes(8, hopper="3,2"),
    "matmul in turn, one group": lambda: in_turn(4, (11, 3), (11, 1), hopper="3,2"),
    "matmul in turn, two groups": lambda: in_turn(8, (11, 3), (11, 1), hopper="3,2"),
    "strips": lambda: in_turn(4, (17, 3), (17, 1), blocks=5, hopper="3,2"),
    "sum in turn, one group": lambda: added_in_turn(4, hopper="3,2"),
    "sum in turn, two groups": lambda: added_in_turn(8, hopper="3,2"),
    "two products, one group": lambda: gated(4, hopper="3,2"),
    "two products, two groups": lambda: gated(8, hopper="3,2"),
    "halves in turn, one group": lambda: halves(4, hopper="3,3"),
    "halves in turn, two groups": lambda: halves(8, hopper="3,3"),
    "backward, one group": lambda: backward(4, hopper="3,3"),
    "backward, two groups": lambda: backward(8, hopper="3,3"),
    "weights of bytes, two groups": lambda: by_bytes(8, hopper="3,3"),
    "weights of bytes, by all": lambda: by_bytes(8, hopper="2,1"),
    "matmul by pairs, one group": lambda: by_pairs(4, 64, True, hopper="3,3"),
    "matmul by pairs, two groups": lambda: by_pairs(8, 128, False, hopper="3,3"),
    "shared K, one group": lambda: by_shares(4, 2, hopper="3,2"),
    "shared K, two groups": lambda: by_shares(8, 4, hopper="3,2"),
    "attention, one group": lambda: attention(False, 4, hopper="3,2"),
    "attention, two groups": lambda: attention(False, 8, hopper="3,3"),
    "attention, rotated": lambda: attention(
        False, 8, 128, 32, tiles=3, keys=224, hopper="3,2"
    ),
    "causal, one group": lambda: attention(True, 4, hopper="3,3"),
    "causal, two groups": lambda: attention(True, 8, hopper="3,2"),
    "grouped, by all": lambda: by_groups(8, hopper="2,0", num_stages=3),
    "grouped, by all, stays open": lambda: by_groups(8, hopper="2,1", num_stages=3),
    "grouped, one group": lambda: by_groups(4, hopper="3,3"),
    "grouped, two groups": lambda: by_groups(8, hopper="3,3"),
}

# Of which kernel, what is changed: why no order of the warps and no result could tell.
# "#2": the second line of the text that has the instruction.
EQUIVALENT = [
    (
        "matmul in turn",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group 0.* #4$|removed: "
        r"(fence\.proxy.* #4|cp\.async\.bulk\.commit_group.* #4|bar\.sync 1, .* #5|"
        r"@\S+ bar\.sync [23], .* #[89])$",
        "The loop over what is left stores no first piece, because there was an iteration: "
        "a launch without any runs other code.",
    ),
    (
        "matmul in turn",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group\.read 0.* #4$|"
        r"removed: cp\.async\.bulk\.commit_group.* #6$",
        "Nobody writes the stage behind the last piece of all, and both are waited for "
        "together.",
    ),
    (
        "sum in turn",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group(\.read 0.* #[12]| 0.* "
        r"#[28])$|removed: cp\.async\.bulk\.commit_group.* #2$",
        "The load comes to the stage when all pieces of the program before are sent, and a "
        "tile's first piece is sent with its second.",
    ),
    (
        "sum in turn",
        r"removed: (fence\.proxy.* #[56]|bar\.sync 1, .* #([78]|12))$",
        "In front of the load threads have met, and fenced what they wrote, for the last "
        "piece; and each thread writes a piece where it has read.",
    ),
    (
        "sum in turn",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group 0.* #4$|"
        r"removed: (fence\.proxy.* #4|cp\.async\.bulk\.commit_group.* #4|"
        r"bar\.sync 1, .* #6|@\S+ bar\.sync [23], .* #(9|10))$",
        "The loop over what is left stores no first piece, as in products in turn.",
    ),
    (
        "sum in turn",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group\.read 0.* #5$|"
        r"removed: cp\.async\.bulk\.commit_group.* #6$",
        "Nobody writes the stage behind the last piece of all, as in products in turn.",
    ),
    (
        "strips",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group 0.* #[48]$|removed: "
        r"(fence\.proxy.* #[48]|cp\.async\.bulk\.commit_group.* #[48]|"
        r"bar\.sync 1, .* #[59])$",
        "The loops over what is left store no first piece, as in products in turn.",
    ),
    (
        "strips",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group\.read 0.* #5$|removed: "
        r"(fence\.proxy.* #9|cp\.async\.bulk\.commit_group.* #9|bar\.sync 1, .* #10)$",
        "A strip is one piece, and never stores a second.",
    ),
    (
        "strips",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group(\.read 0.* #7| 0.* #10)$|"
        r"removed: cp\.async\.bulk\.commit_group.* #([57]|12)$",
        "Nobody writes the stage behind a strip or the last tile, and all pieces are sent "
        "when the block ends.",
    ),
    (
        "strips", r"removed: @\S+ mbarrier\.arrive.* #4$",
        "Nobody fills a slot behind a strip.",
    ),
    (
        "shared K", r"removed: @\S+ mbarrier\.arrive.* #2$",
        "Nobody fills a slot behind the loop.",
    ),
    (
        "shared K", r"always 0: mbarrier\.try_wait.* #3$",
        "What blocks send each other comes once, so its wait is for phase 0.",
    ),
    (
        "shared K",
        r"(removed|one more pending): cp\.async\.bulk\.wait_group 0|"
        r"removed: (bar\.sync 1, .* #2|@\S+ bar\.sync [23], .* #[23])$",
        "A program stores one tile, so nothing is sent when it writes its stage, and "
        "nobody waits for those who would wait for that.",
    ),
    (
        "shared K", r"the second, who (reads|fills): .* = select .*, %last",
        "Where the last part ends is the loop's own end, or counted: the counter wraps "
        "only behind the largest number.",
    ),
    (
        "causal, (one|two)", r"removed: wgmma\.fence.* #1$",
        "The loop in front of the diagonal runs behind that over it. What its first "
        "product uses was read before the second product's fence of the last iteration.",
    ),
    (
        "causal, (one|two)",
        r"half.*arrivals=[48]|one fewer: mbarrier\.init.* #1[04]$|removed: bar\.warp\.sync",
        "There is a key for each row: when the first of a group's warps gives Q back, a "
        "product is over for which all four have waited for Q.",
    ),
    (
        "backward", r"removed: wgmma\.fence.* #2$",
        "The second product begins behind the first, and uses what was last used in front "
        "of that one's fence.",
    ),
    (
        "backward", r"removed: mbarrier\.try_wait.* #6$|half.*arrivals.*\(at=0,",
        "K's slot is given back behind the same wait as V's, for which who fills waits "
        "first.",
    ),
    (
        "weights of bytes", r"(removed|one more pending): cp\.async\.wait_group 0",
        "Behind the loop copies of zeros are left, to slots that nobody uses again.",
    ),
    (
        "weights of bytes, two", r"removed: bar\.sync 1, .* #2$",
        "It is in front of the first copies of each tile, whose slots who copied reads.",
    ),
    (
        "grouped, by all, stays open", r"one more pending: cp\.async\.wait_group 0",
        "Behind the loop one group of copies is left, of zeros, to a slot that the next "
        "tile writes only behind its own first wait, which is for all older groups.",
    ),
    (
        "by words", r"(removed|one more pending): wgmma\.wait_group.* 1;",
        "Words for the next part are read into registers of their own: the wait lets ptxas "
        "allot the same ones again.",
    ),
    (
        "two products", r"removed: wgmma\.fence.* #2$",
        "Nothing uses the second product's registers behind the fence of the first.",
    ),
    (
        "halves|sum", r"removed: bar\.sync 0;.* #1$",
        "The barrier behind the mbarriers of rings follows.",
    ),
    (
        "halves", r"removed: cp\.async\.bulk\.commit_group.* #1$|"
        r"(removed|one more pending): cp\.async\.bulk\.wait_group\.read 0.* #[14]$",
        "The store behind waits for all pieces before it writes its own, and the load in "
        "front has waited for all.",
    ),
    (
        "halves", r"removed: (fence\.proxy.* #[45]|bar\.sync 1, .* #[78])$",
        "Each piece is fenced, and all threads have met, before it is sent, and each "
        "thread writes the second half where it has read.",
    ),
    (
        "two products", r"(removed|one more pending): cp\.async\.bulk\.wait_group 0",
        "A program stores one tile, so nothing is sent when it writes its stage.",
    ),
    (
        "two products", r"removed: bar\.sync 1, .* #2$",
        "It is for those who write the stage behind the wait that has nothing to wait for.",
    ),
    (
        "two products", r"removed: mbarrier\.try_wait.* #6$|half.*arrivals.*\(at=0,",
        "D's slots are given back before A's, and who fills has waited for A's.",
    ),
    (
        "rotated", r"removed: wgmma\.fence.* #4$",
        "Nothing uses the second product's registers behind the fence of the first.",
    ),
    (
        "rotated", r"removed: mbarrier\.try_wait.* #7$",
        "Who fills has waited for Q, which is given back behind all keys.",
    ),
    (
        "rotated", r"removed, who reads: turn",
        "It holds one group back for some clocks, and orders nothing.",
    ),
    (
        "rotated", r"the (next|first), who reads: mbar_wait .*looks=",
        "It is left after so many looks, whatever they saw.",
    ),
]  # fmt: skip

# What the result alone tells: every launch is in order.
WRONG = [
    (
        "rotated", r"the (next|first), who reads: .*shared_view .* #5$",
        "Behind the loop the other slot still has the values before the last. It is filled "
        "behind the next wait for Q, which is given back behind this product.",
    ),
]  # fmt: skip


def stands_in(reasons: list, name: str, mutant: mutants.Mutant) -> bool:
    op = re.findall(r": (?:@\S+ |%.* = )?(\S+)", mutant.what)[0]
    of = made(name)
    text = of.compiled.asm["simt"] if ", who " in mutant.what else of.ptx
    n = sum(op in line for line in text.split("\n")[: mutant.line])
    return any(
        re.search(who, name) and re.match(what, f"{mutant.what} #{n}")
        for who, what, _ in reasons
    )


@cache
def made(name: str) -> Subject:
    return SUBJECTS[name]()


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_order_of_the_warps_is_refused(
    name: str, request: pytest.FixtureRequest
) -> None:
    """One of three orders by turn, or with --full all."""
    drawn = 1 + int(os.environ["TEGULA_TURN"]) % 3
    for seed in range(1, 4) if request.config.getoption("--full") else [drawn]:
        assert not made(name).again(made(name).ptx, seed)
        assert made(name).is_right()


def test_a_look_at_what_came_is_no_wait() -> None:
    """One thread of a warpgroup gives a slot back for all four warps, once the product is
    over that all have begun. A warp that waits for the slot's copy again behind the
    product may come when it has been filled twice, and would wait for ever (seen under
    memcheck)."""
    s = made("attention, rotated")
    waits = s.ptx.replace("mbarrier.test_wait", "mbarrier.try_wait")
    assert waits != s.ptx
    assert "nothing orders that behind thread" in s.again(waits, 0)


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_warp_that_is_always_last_stops_nobody(name: str) -> None:
    """As under a tool that makes one slow: it runs where all others only wait."""
    s = made(name)
    n_warps = int(re.findall(r"\.reqntid (\d+)", s.ptx)[0]) // 32
    blocks = int((re.findall(r"\.reqnctapercluster (\d)", s.ptx) or "1")[0])
    for warp in range(n_warps * blocks):
        assert not s.again(s.ptx, (warp + 1) << 32)
        assert s.is_right()


@pytest.mark.parametrize("name", SUBJECTS)
def test_mutants_are_reported(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Every 24th, or all with --full, which prints the table of outcomes (-s)."""
    every = 1 if request.config.getoption("--full") else 24
    first = zlib.crc32(name.encode())
    found = list(made(name).outcomes(tmp_path, every, first))
    if every == 1:
        print(f"\n{name}\n{mutants.table(found)}")
        assert len(found) >= 15
    for o in found:
        expected = (
            o.state == "reported"
            or stands_in(EQUIVALENT, name, o.mutant)
            or (o.state == "wrong" and stands_in(WRONG, name, o.mutant))
        )
        assert expected, f"{o.state}: {o.mutant.what}, line {o.mutant.line}"


def test_what_blocks_of_a_pair_tell_each_other(tmp_path: Path) -> None:
    """Every arrival at the other block, the count of both, each barrier of the cluster and
    each copy, whoever it is for."""
    s = made("matmul by pairs, one group")
    found = list(s.outcomes(tmp_path, kinds="arrival barrier copy"))
    for what, n in (("there; mapa", 4), ("barrier.cluster", 4), ("pair=1", 2)):
        assert sum(what in o.mutant.what for o in found) == n
    assert sum(o.mutant.what.startswith("one fewer: mbarrier.init") for o in found) == 3
    for o in found:
        assert o.state == "reported", f"{o.mutant.what}, line {o.mutant.line}"


@pytest.mark.slow
def test_what_a_pair_in_turn_tells_each_other(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The same in each turn and for strips, behind which nobody fills a slot. A fourth of
    them, or all with --full: each has 36 programs."""
    s = in_turn(4, (18, 3), (18, 1), hopper="3,2", multicast="1")
    here = [
        m
        for m in mutants.of_ptx(s.ptx)
        if re.search(r"there; mapa|barrier\.cluster", m.what)
    ]
    copies = [m for m in mutants.of_simt(s.compiled.asm["simt"]) if m.kind == "copy"]
    arrivals = [m for m in here if m.kind == "arrival"]
    assert (len(arrivals), len(here), len(copies)) == (8, 12, 4)
    every = 1 if request.config.getoption("--full") else 4
    for m in [*here, *copies][int(os.environ["TEGULA_TURN"]) % every :: every]:
        o = s.outcome(m, s.built(m, tmp_path) if m in copies else m.text)
        is_behind = m in arrivals[-2:]
        assert is_behind == (o.state != "reported"), f"{m.what}, {m.line}"


REPORTS = {
    "one group alone frees a slot": (
        "attention, two groups", "arrival", "half, who reads",
        r"a bulk copy writes shared memory that a product has read.*; cp\.async\.bulk",
    ),
    "a phase that may be over twice": (
        "matmul, two groups", "slot", "the next, who fills: mbar_wait",
        r"nothing orders that behind thread 256's wait .*; mbarrier\.arrive",
    ),
    "fewer bytes than come": (
        "matmul, one group", "bytes", "-16 more",
        r"a cp\.async\.bulk that nobody has waited for is still to write; wgmma",
    ),
    "mbarriers that the async proxy may not see": (
        "matmul, one group", "fence", "removed, all: fence.mbarrier_init",
        r"wrote at .*\(mbarrier\.init.* without a fence\.proxy\.async .*; cp\.async",
    ),
    "registers without a fence": (
        "matmul, one group", "fence", "removed: wgmma.fence",
        r"no wgmma\.fence stands between it and others that use .*; wgmma\.mma_async",
    ),
    "a stage that is still sent": (
        "attention, two groups", "wait", "removed: cp.async.bulk.wait_group",
        r"thread \d+ writes shared memory that a bulk copy has read.*; st\.shared",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REPORTS)
def test_reports_name_the_place(what: str, tmp_path: Path) -> None:
    name, kind, change, why = REPORTS[what]
    s = made(name)
    for text, built in ((s.ptx, False), (s.compiled.asm["simt"], True)):
        for m in (mutants.of_simt if built else mutants.of_ptx)(text):
            if m.kind == kind and m.what.startswith(change):
                o = s.outcome(m, s.built(m, tmp_path) if built else m.text)
                assert re.search(why, o.why), o.why
                return
    raise AssertionError("no such mutant")


@tegula.jit
def tiles_of_rows(a_ptr, b_ptr, c_ptr, steps, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [3 * BM, 64], [64, 1], [BM, 64])
    b = tl.make_tensor_descriptor(b_ptr, [BN, 64], [64, 1], [BN, 64])
    m, n = tl.arange(0, BM)[:, None], tl.arange(0, BN)
    for tile in range(3):
        rows = a.load([tile * BM, 0])
        c = tl.zeros((BM, BN), tl.float32)
        for _ in range(steps):
            c = tl.dot(rows, b.load([0, 0]).T, c)
        tl.store(c_ptr + (tile * BM + m) * BN + n, c)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_slot_that_no_product_reads(steps: int) -> None:
    """One thread gives it back for its warpgroup, whose others wait for it still."""
    a, b = whole(1, 3 * 128, 64), whole(2, 64, 64)
    there = [simulated.put(x, TARGET) for x in (a, b)]
    c = simulated.put(np.full((3 * 128, 64), np.nan, np.float32), TARGET)
    want = steps * (a.astype(np.float32) @ b.T.astype(np.float32))

    def launch(**options: Any) -> Any:
        options = {"num_warps": 8, "hopper": "3", **options}
        return tiles_of_rows[(1,)](*there, c, steps, 128, 64, **options)

    subject = Subject(launch, [c], lambda: np.array_equal(c.numpy(), want))
    assert "tma_load" in subject.compiled.asm["simt"]
    for seed in range(1, 5):
        assert not subject.again(subject.ptx, seed)
        assert subject.is_right()
