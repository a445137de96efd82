"""Attention whose two products run beside each other (pass rotate), run as PTX."""

from __future__ import annotations

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def attend(
    q_ptr, k_ptr, v_ptr, o_ptr, peak_ptr, first, last, n,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, FORM: tl.constexpr,
    SCALED: tl.constexpr = True,
):  # fmt: skip
    """Rows attend to the keys first .. last; FORM: how the loop walks over them."""
    rows, cols, d = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    k_ptrs = k_ptr + (first + cols)[None, :] * D + d[:, None]
    v_ptrs = v_ptr + (first + cols)[:, None] * D + d[None, :]
    if FORM == "counted":
        begin, end, step = 0, tl.cdiv(last - first, BN), 1
    else:
        begin, end, step = first, last, BN
    for at in range(begin, end, step):
        if FORM == "counted":
            keys = first + at * BN + cols
        else:
            keys = at + cols
        if FORM == "pointers":
            k = tl.load(k_ptrs, mask=keys[None, :] < n, other=0.0)
            v = tl.load(v_ptrs, mask=keys[:, None] < n, other=0.0)
            k_ptrs += BN * D
            v_ptrs += BN * D
        else:
            k_at = k_ptr + keys[None, :] * D + d[:, None]
            k = tl.load(k_at, mask=keys[None, :] < n, other=0.0)
            v_at = v_ptr + keys[:, None] * D + d[None, :]
            v = tl.load(v_at, mask=keys[:, None] < n, other=0.0)
        s = tl.where(keys[None, :] < last, tl.dot(q, k), -float("inf"))
        if SCALED:
            higher = tl.maximum(peak, tl.max(s, axis=1))
            p = tl.exp2(s - higher[:, None])
            shrink = tl.exp2(peak - higher)
            acc = acc * shrink[:, None]
            total = total * shrink + tl.sum(p, axis=1)
            peak = higher
        else:
            p = tl.where(s > 0, s, 0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc)
    tl.store(peak_ptr + rows, peak)
    tl.store(peak_ptr + BM + rows, total)


def expected(q, k, v, first, last, scaled):
    s = q.astype(np.float64) @ k[first:last].astype(np.float64).T
    if not scaled:
        return np.maximum(s, 0) @ v[first:last], None, None
    if first >= last:
        return np.zeros((len(q), v.shape[1])), -np.inf, 0
    peak = s.max(axis=1)
    p = np.exp2(s - peak[:, None])
    return p @ v[first:last], peak, p.sum(axis=1)


@pytest.mark.parametrize("form", ["range", "counted", "pointers"])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(
    ("first", "last"), [(0, 256), (0, 64), (64, 200), (128, 128), (96, 64)]
)
def test_like_one_after_the_other(form, scaled, first, last):
    """Also of one iteration, of none, and of an end that no block reaches."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-2, 3, (n, 64)).astype(np.float16) for n in (64, 256, 256))
    q *= np.float16(0.25)
    got = {}
    for hopper in ("2", "2,0"):
        there = [simulated.put(x, TARGET) for x in (q, k, v)]
        o = simulated.put(np.full((64, 64), np.nan, np.float32), TARGET)
        rest = simulated.put(np.full((2, 64), np.nan, np.float32), TARGET)
        compiled = attend[(1,)](
            *there, o, rest, first, last, 256, D=64, BM=64, BN=64, FORM=form,
            SCALED=scaled, num_warps=4, num_stages=5,  # two blocks fit, no more
            hopper=hopper,
        )  # fmt: skip
        assert "wgmma.mma_async" in compiled.asm["ptx"]
        assert ("rotated" in str(compiled.report)) == (hopper == "2")
        got[hopper] = o.numpy(), rest.numpy()
    out, peak, total = expected(q, k, v, first, last, scaled)
    np.testing.assert_allclose(got["2"][0], out, rtol=2e-3, atol=2e-2)
    if scaled:
        np.testing.assert_allclose(got["2"][1][0], peak)
        np.testing.assert_allclose(got["2"][1][1], total, rtol=1e-5)
    for x, y in zip(got["2"], got["2,0"], strict=True):
        np.testing.assert_array_equal(x, y)


@tegula.jit
def attend_with_bias(
    q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr, n,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    rows, cols, d = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for at in range(0, n, BN):
        keys = at + cols
        k = tl.load(k_ptr + keys[None, :] * D + d[:, None])
        bias = tl.load(bias_ptr + rows[:, None] * n + keys[None, :])
        s = tl.dot(q, k) + bias.to(tl.float32)
        higher = tl.maximum(peak, tl.max(s, axis=1))
        p = tl.exp2(s - higher[:, None])
        shrink = tl.exp2(peak - higher)
        v = tl.load(v_ptr + keys[:, None] * D + d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        total = total * shrink + tl.sum(p, axis=1)
        peak = higher
    out = acc / total[:, None]
    tl.store(o_ptr + rows[:, None] * D + d[None, :], out)


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_bias_runs_ahead(turns):
    """What it is added to reaches the second product an iteration later."""
    n, d, bm, bn = 64 * turns, 128, 128, 64
    rng = np.random.default_rng(3)
    shapes = (bm, d), (n, d), (n, d), (bm, n)
    q, k, v, bias = (rng.normal(0, 0.3, s).astype(np.float16) for s in shapes)
    arrays = q, k, v, bias, np.full((bm, d), np.nan, np.float32)
    there = [simulated.put(x, TARGET) for x in arrays]
    c = attend_with_bias[(1,)](
        *there, n, d, bm, bn, num_warps=8, num_stages=3, hopper="2"
    )
    s = q.astype(np.float64) @ k.astype(np.float64).T + bias
    p = np.exp2(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(there[4].numpy(), want, rtol=5e-3, atol=5e-3)
    assert "rotated" in c.report
    bias_line = [x for x in c.report.splitlines() if "load ahead (loop)" in x]
    assert len(bias_line) == 3
