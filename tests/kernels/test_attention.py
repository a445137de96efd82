"""Attention forward with an online softmax."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    seq_len,
    scale,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head * seq_len * HEAD
    m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    q = tl.load(
        q_ptr + base + m[:, None] * HEAD + d[None, :],
        mask=m[:, None] < seq_len,
        other=0.0,
    )
    top = tl.full((BLOCK_M,), -1e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    end = seq_len
    if CAUSAL:
        end = min(seq_len, (start_m + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(
            k_ptr + base + n[None, :] * HEAD + d[:, None],
            mask=n[None, :] < seq_len,
            other=0.0,
        )
        s = tl.dot(q, k, input_precision="ieee") * scale
        keep = n[None, :] < seq_len
        if CAUSAL:
            keep = keep & (n[None, :] <= m[:, None])
        s = tl.where(keep, s, -1e30)
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new_top[:, None])
        alpha = tl.exp(top - new_top)
        total = total * alpha + tl.sum(p, axis=1)
        v = tl.load(
            v_ptr + base + n[:, None] * HEAD + d[None, :],
            mask=n[:, None] < seq_len,
            other=0.0,
        )
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        top = new_top
    acc = acc / total[:, None]
    tl.store(
        o_ptr + base + m[:, None] * HEAD + d[None, :],
        acc.to(o_ptr.dtype.element_ty),
        mask=m[:, None] < seq_len,
    )


def attention(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ k.swapaxes(1, 2) / q.shape[-1] ** 0.5
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


@pytest.mark.parametrize("seq", [1, 33, 128])
@pytest.mark.parametrize("head", [16, 64])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_attention(device, rng, seq, head, causal, dtype):
    check(device, rng, seq, head, causal, dtype, 32, 32)


@pytest.mark.parametrize("head,block_m,block_n", [(96, 32, 32), (80, 48, 24)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_odd_heads(device, rng, head, block_m, block_n, causal, dtype):
    """Heads as models have them, and blocks to match: the compiler pads."""
    check(device, rng, 100, head, causal, dtype, block_m, block_n)


def check(device, rng, seq, head, causal, dtype, block_m, block_n):
    q, k, v = rng.standard_normal((3, 2, seq, head)).astype(dtype)
    o = device.poison(q.shape, dtype)
    attention_kernel[(triton.cdiv(seq, block_m), 2)](
        device.put(q),
        device.put(k),
        device.put(v),
        o,
        seq,
        head**-0.5,
        HEAD=head,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        CAUSAL=causal,
    )
    tol = 3e-3 if dtype == np.float16 else 2e-5
    np.testing.assert_allclose(
        device.get(o), attention(q, k, v, causal), rtol=tol, atol=tol
    )
