"""Attention's backward pass as in FlashAttention-2 and Triton's tutorial 06, run as PTX:
loops of several products, some of which want no other's result."""

from __future__ import annotations

import re

import numpy as np
import pytest
import simulated
from test_roles import ran

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def some_rows(
    dk, dv, k, v, q_ptr, do_ptr, m_ptr, delta_ptr, cols, first, n_turns,
    D: tl.constexpr, BM: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, D)
    rows = first + tl.arange(0, BM)
    q_ptrs = q_ptr + rows[None, :] * D + d[:, None]
    do_ptrs = do_ptr + rows[:, None] * D + d[None, :]
    for _ in range(n_turns):
        q_t = tl.load(q_ptrs)
        m = tl.load(m_ptr + rows)
        p = tl.exp2(tl.dot(k, q_t) - m[None, :])
        if MASKED:
            p = tl.where(rows[None, :] >= cols[:, None], p, 0.0)
        do = tl.load(do_ptrs)
        dv += tl.dot(p.to(tl.float16), do)
        delta = tl.load(delta_ptr + rows)
        dp = tl.dot(v, tl.trans(do))
        ds = (p * (dp - delta[None, :])).to(tl.float16)
        dk += tl.dot(ds, tl.trans(q_t))
        rows += BM
        q_ptrs += BM * D
        do_ptrs += BM * D
    return dk, dv


@tegula.jit
def of_keys(
    q_ptr, k_ptr, v_ptr, do_ptr, dk_ptr, dv_ptr, m_ptr, delta_ptr, n,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """If CAUSAL, the rows beside the diagonal are a loop of their own, of two turns."""
    first = tl.program_id(0) * BN
    cols = first + tl.arange(0, BN)
    at = cols[:, None] * D + tl.arange(0, D)[None, :]
    k, v = tl.load(k_ptr + at), tl.load(v_ptr + at)
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    if CAUSAL:
        dk, dv = some_rows(dk, dv, k, v, q_ptr, do_ptr, m_ptr, delta_ptr, cols, first, 2,
                           D, BN // 2, True)  # fmt: skip
    first = first + BN if CAUSAL else 0
    dk, dv = some_rows(dk, dv, k, v, q_ptr, do_ptr, m_ptr, delta_ptr, cols, first,
                       (n - first) // BM, D, BM, False)  # fmt: skip
    tl.store(dv_ptr + at, dv)
    tl.store(dk_ptr + at, dk)


@tegula.jit
def of_queries(
    q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, m_ptr, delta_ptr, n,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols, d = tl.arange(0, BN), tl.arange(0, D)
    at = rows[:, None] * D + d[None, :]
    q, do = tl.load(q_ptr + at), tl.load(do_ptr + at)
    m, delta = tl.load(m_ptr + rows), tl.load(delta_ptr + rows)
    dq = tl.zeros((BM, D), tl.float32)
    k_ptrs = k_ptr + cols[None, :] * D + d[:, None]
    v_ptrs = v_ptr + cols[None, :] * D + d[:, None]
    for _ in range(n // BN):
        k_t, v_t = tl.load(k_ptrs), tl.load(v_ptrs)
        p = tl.exp2(tl.dot(q, k_t) - m[:, None])
        dp = tl.dot(do, v_t)
        ds = (p * (dp - delta[:, None])).to(tl.float16)
        dq += tl.dot(ds, tl.trans(k_t))
        k_ptrs += BN * D
        v_ptrs += BN * D
    tl.store(dq_ptr + at, dq)


def problem(n, d, causal=False):
    rng = np.random.default_rng(n + d)
    q, k, v, do = (rng.integers(-4, 5, (n, d)) / 16 for _ in range(4))
    s = q @ k.T
    m = np.log2(np.exp2(s).sum(1)).astype(np.float32)
    delta = rng.standard_normal(n).astype(np.float32)
    p = np.exp2(s - m[:, None])
    if causal:
        p = np.tril(p)
    ds = p * (do @ v.T - delta[:, None])
    tensors = [simulated.put(x.astype(np.float16), TARGET) for x in (q, k, v, do)] + [
        simulated.put(x, TARGET) for x in (m, delta)
    ]
    return tensors, ds @ k, ds.T @ q, p.T @ do


def no_numbers(n, d):
    return simulated.put(np.full((n, d), np.nan, np.float32), TARGET)


def compare(got, want):
    np.testing.assert_allclose(got.numpy(), want, rtol=4e-3, atol=4e-3)


def loop_of_products(compiled) -> str:
    """The loop of the IR that has most wgmma, as text."""
    loops = re.findall(r" = for .*?\n +yield", compiled.asm["simt"], re.S)
    return max(loops, key=lambda text: text.count("mma_start"))


@pytest.mark.parametrize("hopper", ["2", "3"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("block", "warps"), [((32, 128), 8), ((64, 64), 4)])
def test_keys_and_values(block, warps, causal, hopper):
    n, d = 256, 64
    (q, k, v, do, m, delta), _, want_dk, want_dv = problem(n, d, causal)
    dk, dv = no_numbers(n, d), no_numbers(n, d)
    launch = lambda: of_keys[(n // block[1],)](
        q, k, v, do, dk, dv, m, delta, n, D=d, BM=block[0], BN=block[1],
        CAUSAL=causal, num_warps=warps, hopper=hopper,
    )  # fmt: skip
    compiled = ran(launch) if hopper == "3" else launch()
    compare(dv, want_dv)
    compare(dk, want_dk)
    loop = loop_of_products(compiled)
    assert loop.count("mma_start") == 4
    # dP begins beside S, and what rows need of m and delta has come before: what is loaded
    # behind the first start is the next iteration's, and no other op of this one wants it.
    assert re.search(r"mma_start(?:(?!mma_wait).)*mma_start", loop, re.S), loop
    late = re.findall(r"(%\w+) = load", loop.split("mma_start", 1)[1])
    # Where registers allow, both sums stay open until the next S has come.
    text = compiled.asm["simt"]
    is_open = re.search(r"(%\w+, ){2}%\w+ = mma_wait .* {pending=1}", text)
    assert bool(is_open) == (hopper == "3" and (warps == 8 or causal)), text
    for name in late:  # the text ends in front of what is yielded
        assert len(re.findall(rf"{name}\b", loop)) == 1, loop


@pytest.mark.parametrize("hopper", ["2", "3"])
@pytest.mark.parametrize(("block", "warps"), [((64, 64), 4), ((128, 32), 8)])
def test_queries(block, warps, hopper):
    n, d = 256, 64
    (q, k, v, do, m, delta), want, _, _ = problem(n, d)
    dq = no_numbers(n, d)
    launch = lambda: of_queries[(n // block[0],)](
        q, k, v, do, dq, m, delta, n, D=d, BM=block[0], BN=block[1], num_warps=warps,
        hopper=hopper,
    )  # fmt: skip
    compiled = ran(launch) if hopper == "3" else launch()
    compare(dq, want)
    loop = loop_of_products(compiled)
    assert re.search(r"mma_start(?:(?!mma_wait).)*mma_start", loop, re.S), loop
