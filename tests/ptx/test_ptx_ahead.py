"""What runs ahead of a loop's products, how far, and in which layout: read from the compiler's report."""

from __future__ import annotations

import pytest

import tegula
import tegula.language as tl

B, F, BYTE = "*bf16:16", "*fp32:16", "*i8:16"


@tegula.jit
def scaled(a_ptr, s_ptr, b_ptr, c_ptr, N, K,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + (k0 + k)[None, :]).to(tl.float32)
        a *= tl.load(s_ptr + k0 + k)[None, :]
        b = tl.load(b_ptr + (k0 + k)[:, None] * N + n[None, :])
        acc += tl.dot(a.to(tl.bfloat16), b)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


@tegula.jit
def chunks(
    c_ptr, b_ptr, o_ptr, S, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    if tl.program_id(0) * BM > tl.program_id(1) * BN:
        return
    a_ptrs = c_ptr + (tl.program_id(0) * BM + m[:, None]) * S + k[None, :]
    b_ptrs = b_ptr + (tl.program_id(1) * BN + n[None, :]) * S + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(tl.cdiv(S, BK)):
        a = tl.load(a_ptrs, mask=k[None, :] < S - k0 * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < S - k0 * BK, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BK
        b_ptrs += BK
    tl.store(o_ptr + m[:, None] * BN + n[None, :], acc.to(tl.bfloat16))


@tegula.jit
def masked_attention(q_ptr, k_ptr, v_ptr, mask_ptr, sink_ptr, o_ptr, scale, T,
                     SINKS: tl.constexpr, D: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d, c = tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    if SINKS:
        top = tl.load(sink_ptr + m % 8)
    else:
        top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for j in range(0, T, BN):
        n = j + c
        s = tl.dot(q, tl.load(k_ptr + n[None, :] * D + d[:, None])) * scale
        if not SINKS:
            seen = tl.load(mask_ptr + m[:, None] * T + n[None, :])
            s = tl.where(seen != 0, s, -1e9)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + n[:, None] * D + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        top = new
    out = (acc / total[:, None]).to(tl.bfloat16)
    tl.store(o_ptr + m[:, None] * D + d[None, :], out)


@tegula.jit
def distances(x_ptr, y_ptr, v_ptr, o_ptr, N, D: tl.constexpr, BM: tl.constexpr,
              BN: tl.constexpr):  # fmt: skip
    m, d, e = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.arange(0, D),
        tl.arange(0, 64),
    )
    x = tl.load(x_ptr + m[:, None] * D + d[None, :])
    acc = tl.zeros((BM, 64), tl.float32)
    for n0 in range(0, N, BN):
        n = n0 + tl.arange(0, BN)
        y = tl.load(y_ptr + n[:, None] * D + d[None, :])
        yy = tl.sum(y.to(tl.float32) * y.to(tl.float32), 1)
        p = tl.exp(2 * tl.dot(x, tl.trans(y)) - yy[None, :])
        v = tl.load(v_ptr + n[:, None] * 64 + e[None, :])
        acc += tl.dot(p.to(tl.bfloat16), v)
    tl.store(o_ptr + m[:, None] * 64 + e[None, :], acc)


@tegula.jit
def covariance(x_ptr, mean_ptr, y_ptr, T, N,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    t = tl.arange(0, BK)
    mean_m, mean_n = tl.load(mean_ptr + m), tl.load(mean_ptr + n)
    acc = tl.zeros((BM, BN), tl.float32)
    for t0 in range(0, T, BK):
        a = tl.load(x_ptr + (t0 + t)[None, :] * N + m[:, None]) - mean_m[:, None]
        b = tl.load(x_ptr + (t0 + t)[:, None] * N + n[None, :]) - mean_n[None, :]
        acc += tl.dot(a, b)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc)


def compiled(kernel, signature: str, *sizes: int, warps: int, stages: int, tma=True,
             **options):  # fmt: skip
    names = [n for n in ("BM", "BN", "BK") if n in kernel.arg_names]
    options |= dict(zip(names, sizes, strict=True))
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = "none"
        tegula.knobs.nvidia.tma = tma
        return kernel.compile(
            *signature.split(), num_warps=warps, num_stages=stages,
            target="cuda:sm_90a", **options,
        )  # fmt: skip


def reported(c, what: str) -> list[str]:
    return [line for line in c.report.splitlines() if what in line]


def test_moves_of_what_comes_by_slots_take_no_room():
    """Three slots of both operands leave room for a second block."""
    c = compiled(
        scaled, f"{B} {F} {B} {B} i32:16 i32:16", 128, 128, 64, warps=4, stages=3
    )
    assert c.metadata.shared > 3 * 2 * 128 * 64 * 2


def test_fewer_slots_where_another_block_has_room():
    types = f"{B} {B} {B} i32:16"
    c = compiled(chunks, types, 128, 64, 64, warps=2, stages=5, tma=False)
    assert 2 * c.metadata.shared <= 227 << 10


@pytest.mark.parametrize(("m", "n", "warps"), [(128, 64, 8), (64, 32, 4), (64, 32, 2)])
def test_masks_are_read_where_scores_lie(m: int, n: int, warps: int):
    types = f"{B} {B} {B} {BYTE} {F} {B} fp32 i32:16"
    options = {"SINKS": False, "D": 64, "warps": warps, "stages": 4}
    c = compiled(masked_attention, types, m, n, **options)
    assert not reported(c, "other threads (loop)")


@pytest.mark.parametrize(("m", "n", "warps"), [(64, 16, 4), (128, 64, 4), (64, 64, 2)])
def test_rows_that_enter_a_loop_lie_as_it_makes_them(m: int, n: int, warps: int):
    types = f"{B} {B} {B} {BYTE} {F} {B} fp32 i32:16"
    options = {"SINKS": True, "D": 64, "warps": warps, "stages": 3}
    c = compiled(masked_attention, types, m, n, **options)
    assert not reported(c, "other threads (loop)")


def test_tiles_come_by_warps_where_all_of_the_loop_do():
    c = compiled(
        distances, f"{B} {B} {B} {F} i32:16", 128, 128, warps=8, stages=4, D=32
    )
    assert not reported(c, "level 3")
    assert len(reported(c, "load ahead (loop)")) == 2


def test_few_multiply_adds_keep_their_warps():
    c = compiled(
        covariance, f"{F} {F} {F} i32:16 i32:16", 64, 32, 16, warps=1, stages=5
    )
    assert not reported(c, "warps ")
