"""Attention by plain pointers and block pointers: all of Q, K and V come by tensor maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def softmax_step(s, peak, total, acc, v):
    higher = tl.maximum(peak, tl.max(s, 1))
    p = tl.exp2(s - higher[:, None])
    shrink = tl.exp2(peak - higher)
    total = total * shrink + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
    return higher, total, acc


@tegula.jit
def by_pointers(
    q_ptr, k_ptr, v_ptr, o_ptr, sqz, sqh, sqm, sqk, skz, skh, skn, skk, svz, svh, svk,
    svn, soz, soh, som, son, H, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    CAUSAL: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """FlashAttention-2's: a batch, heads and rows of any strides, masks of rows."""
    start = tl.program_id(0)
    if FORM == "down":
        start = tl.num_programs(0) - 1 - start
    zh = tl.program_id(1)
    z, h = zh // H, zh % H
    if FORM == "wide":
        z, h = z.to(tl.int64), h.to(tl.int64)
    q_ptr += z * sqz + h * sqh
    k_ptr += z * skz + h * skh
    v_ptr += z * svz + h * svh
    m, j, d = start * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q_ptrs = q_ptr + m[:, None] * sqm + d[None, :] * sqk
    k_ptrs = k_ptr + j[None, :] * skn + d[:, None] * skk
    v_ptrs = v_ptr + j[:, None] * svk + d[None, :] * svn
    q = tl.load(q_ptrs, mask=m[:, None] < n, other=0.0)
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    last = tl.minimum((start + 1) * BM, n) if CAUSAL else n
    for at in range(0, last, BN):
        rows = at + j < n
        if FORM == "carried":
            k = tl.load(k_ptrs, mask=rows[None, :], other=0.0)
            v = tl.load(v_ptrs, mask=rows[:, None], other=0.0)
            k_ptrs += BN * skn
            v_ptrs += BN * svk
        else:
            k = tl.load(k_ptrs + at * skn, mask=rows[None, :], other=0.0)
            v = tl.load(v_ptrs + at * svk, mask=rows[:, None], other=0.0)
        s = tl.where(rows[None, :], tl.dot(q, k), -float("inf"))
        if CAUSAL:
            s = tl.where(m[:, None] >= (at + j)[None, :], s, -float("inf"))
        peak, total, acc = softmax_step(s, peak, total, acc, v)
    o_ptrs = o_ptr + z * soz + h * soh + m[:, None] * som + d[None, :] * son
    tl.store(o_ptrs, acc / total[:, None], mask=m[:, None] < n)


@tegula.jit
def some_keys(q, keys, values, peak, total, acc, m, lo, hi, BN: tl.constexpr,
              MASKED: tl.constexpr, CHECKED: tl.constexpr, n):  # fmt: skip
    keys, values = tl.advance(keys, (0, lo)), tl.advance(values, (lo, 0))
    for at in range(lo, hi, BN):
        at = tl.multiple_of(at, BN)
        if CHECKED:
            k = tl.load(keys, boundary_check=(1,), padding_option="zero")
            v = tl.load(values, boundary_check=(0,), padding_option="zero")
        else:
            k, v = tl.load(keys), tl.load(values)
        s = tl.dot(q, k)
        j = at + tl.arange(0, BN)[None, :]
        if CHECKED:
            s = tl.where(j < n, s, -float("inf"))
        if MASKED:
            s = tl.where(m[:, None] >= j, s, -float("inf"))
        peak, total, acc = softmax_step(s, peak, total, acc, v)
        keys, values = tl.advance(keys, (0, BN)), tl.advance(values, (BN, 0))
    return peak, total, acc


@tegula.jit
def by_block_pointers(
    q_ptr, k_ptr, v_ptr, o_ptr, sz, sh, sm, H, n, D: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, CAUSAL: tl.constexpr, CHECKED: tl.constexpr,
):  # fmt: skip
    """Triton's tutorial 06 in its older form: causal keys by two loops."""
    start, zh = tl.program_id(0), tl.program_id(1)
    head = (zh // H).to(tl.int64) * sz + (zh % H).to(tl.int64) * sh
    queries = tl.make_block_ptr(
        q_ptr + head, (n, D), (sm, 1), (start * BM, 0), (BM, D), (1, 0)
    )
    keys = tl.make_block_ptr(k_ptr + head, (D, n), (1, sm), (0, 0), (D, BN), (0, 1))
    values = tl.make_block_ptr(v_ptr + head, (n, D), (sm, 1), (0, 0), (BN, D), (1, 0))
    m = start * BM + tl.arange(0, BM)
    if CHECKED:
        q = tl.load(queries, boundary_check=(0,), padding_option="zero")
    else:
        q = tl.load(queries)
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    middle = start * BM if CAUSAL else n
    peak, total, acc = some_keys(q, keys, values, peak, total, acc, m, 0, middle, BN,
                                 False, CHECKED, n)  # fmt: skip
    if CAUSAL:
        peak, total, acc = some_keys(q, keys, values, peak, total, acc, m, middle,
                                     middle + BM, BN, True, CHECKED, n)  # fmt: skip
    out = tl.make_block_ptr(
        o_ptr + head, (n, D), (sm, 1), (start * BM, 0), (BM, D), (1, 0)
    )
    tl.store(out, acc / total[:, None], boundary_check=(0,))


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    s = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    if causal:
        s[..., np.triu(np.ones(s.shape[-2:], bool), 1)] = -np.inf
    p = np.exp2(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v.astype(np.float64)


Z, H, D, BM, BN = 2, 2, 64, 128, 64


def heads(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [
        (rng.integers(-2, 3, (Z, H, n, D)) / 4).astype(np.float16) for _ in range(3)
    ]


def strided(x: Any) -> tuple[int, ...]:
    return tuple(s // x.itemsize for s in x.strides)


def check(run: Any, o: Any, want: np.ndarray, n_maps: int) -> None:
    assert "roles {" in run.asm["simt"], run.report
    assert run.asm["tir"].count("= map_load ") == n_maps, run.report
    np.testing.assert_allclose(o.numpy(), want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    "form, causal, n",
    [
        ("narrow", False, 256), ("narrow", True, 200), ("wide", False, 136),
        ("carried", False, 200), ("carried", True, 256), ("down", True, 256),
        ("down", True, 72),
    ],
)  # fmt: skip
def test_pointers(form: str, causal: bool, n: int, rng: np.random.Generator) -> None:
    q, k, v = heads(n, rng)
    there = [simulated.put(x, TARGET) for x in (q, k, v)]
    o = simulated.put(np.full((Z, H, n, D), np.nan, np.float32), TARGET)
    run = by_pointers[(-(-n // BM), Z * H)](
        *there, o, *strided(q), *strided(k), *strided(v), *strided(o.numpy()), H, n,
        D=D, BM=BM, BN=BN, CAUSAL=causal, FORM=form, num_warps=8,
    )  # fmt: skip
    check(run, o, expected(q, k, v, causal), 3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("checked, n", [(False, 256), (True, 256), (True, 200)])
def test_block_pointers(
    causal: bool, checked: bool, n: int, rng: np.random.Generator
) -> None:
    q, k, v = heads(n, rng)
    there = [simulated.put(x, TARGET) for x in (q, k, v)]
    o = simulated.put(np.full((Z, H, n, D), np.nan, np.float32), TARGET)
    run = by_block_pointers[(-(-n // BM), Z * H)](
        *there, o, *strided(q)[:3], H, n, D=D, BM=BM, BN=BN, CAUSAL=causal,
        CHECKED=checked, num_warps=8,
    )  # fmt: skip
    check(run, o, expected(q, k, v, causal), 5 if causal else 3)


def test_wider_teams_have_roles() -> None:
    """What a trial says of the warps that were asked for is not what is compiled."""
    strides = ["i32:16", "i32:16", "i32:16", "i32:1"] * 4
    run = by_pointers.compile(
        *["*fp16:16"] * 4, *strides, "i32", "i32:16", D=128, BM=128, BN=64,
        CAUSAL=False, FORM="narrow", num_warps=4, target="cuda:sm_90a",
    )  # fmt: skip
    assert run.metadata.num_warps == 8, run.report
    assert "roles {" in run.asm["simt"], run.report


@pytest.mark.parametrize(
    ("d", "block", "stages", "causal", "has_roles"),
    [
        (128, 64, 3, False, True),  # two blocks fit, with roles and without
        (128, 64, 4, False, True),
        (64, 128, 3, False, True),
        (128, 128, 3, False, True),
        (64, 128, 3, True, True),  # both loops take the same slots
        (64, 32, 2, False, True),  # copies cost more than a fourth block
        (32, 64, 3, False, False),
    ],
)
def test_one_warpgroup_has_roles_where_as_many_blocks_fit(
    d: int, block: int, stages: int, causal: bool, has_roles: bool
) -> None:
    numbers = dict.fromkeys(("sz", "sh", "sm", "H", "n"), "i32:16")
    constants = {"D": d, "BM": 64, "BN": block, "CAUSAL": causal, "CHECKED": False}
    pointers = {f"{x}_ptr": "*bf16:16" for x in "qkvo"}
    run = by_block_pointers.compile(
        **pointers, **numbers, **constants, target="cuda:sm_90a", num_warps=4,
        num_stages=stages,
    )  # fmt: skip
    assert ("roles {" in run.asm["simt"]) is has_roles, run.report
