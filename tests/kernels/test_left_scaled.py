"""Products in configurations that few try: a left operand that threads compute of what
copies bring, few warps, large tiles."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
from test_roles import whole_numbers

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")


@tegula.jit
def scaled(
    a_ptr, s_ptr, b_ptr, c_ptr, N, K, BY: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + (at + k)[None, :])
        if BY == "columns":
            s = tl.load(s_ptr + at + k)[None, :]
        elif BY == "rows":
            s = tl.load(s_ptr + m)[:, None]
        else:
            s = 0.5
        b = tl.load(b_ptr + (at + k)[:, None] * N + n[None, :])
        acc = tl.dot((a * s).to(tl.float16), b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("by", ["rows", "columns", "a number"])
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_where_it_is_multiplied(target, kind, by, warps):
    m, n, k = 64, 64, 256
    a, b = whole_numbers(1, m, k).astype(kind), whole_numbers(2, k, n)
    s = np.random.default_rng(3).choice(np.array([0.5, 1, 2], kind), max(m, k))
    there = [simulated.put(x, target) for x in (a, s, b)]
    c = simulated.put(np.full((m, n), np.nan, np.float32), target)
    run = scaled[(1, 1)](
        *there, c, n, k, by, BM=64, BN=64, BK=64, num_warps=warps, num_stages=3
    )
    scale = {"rows": s[:m, None], "columns": s[None, :k]}.get(by, np.array(0.5, kind))
    np.testing.assert_array_equal(c.numpy(), (a * scale).astype(np.float64) @ b)
    loop = run.asm["simt"].split(" = for ")[1].split(" yield ")[0]
    assert "async_copy" in loop and "convert_layout" not in loop


@tegula.jit
def product(
    a_ptr, b_ptr, c_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + (at + k)[None, :])
        b = tl.load(b_ptr + (at + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


SIGNATURE = "*fp16:16", "*fp16:16", "*fp32:16", "i32:16", "i32:16"


@pytest.mark.parametrize(
    ("bm", "bn", "warps", "got"),
    [(64, 64, 1, 4), (128, 128, 2, 4), (32, 128, 1, 4), (64, 64, 2, 4), (32, 64, 2, 2)],
)
def test_many_accumulators_get_a_warpgroup(bm, bn, warps, got):
    options = {"BM": bm, "BN": bn, "BK": 64, "num_warps": warps}
    c = product.compile(*SIGNATURE, target="cuda:sm_90a", **options)
    assert c.metadata.num_warps == got
    assert ("level 3" in c.report) == (got == 4)
    kept = product.compile(*SIGNATURE, target="cuda:sm_90a", abi="plain", **options)
    assert kept.metadata.num_warps == warps


def test_tiles_that_no_thread_holds_may_be_large():
    """128 words of a thread, were it to hold them, come by a copy of a tensor."""
    c = product.compile(
        *SIGNATURE, target="cuda:sm_90a", BM=16, BN=256, BK=128, num_warps=4
    )
    assert "level 3" in c.report


def test_slots_leave_room_for_a_second_block():
    """Where programs are dealt by the hardware: four slots would leave none."""
    c = product.compile(
        *SIGNATURE, target="cuda:sm_90a", BM=64, BN=64, BK=128, num_warps=4
    )
    assert "num_blocks" not in c.asm["simt"]
    assert "smem<3 x f16[64, 128]>" in c.asm["simt"]
