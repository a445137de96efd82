"""Attention of ragged batches, over a cache in pages, and with functions for its scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_against_torch import compare

import tegula
import tegula.language as tl
from tegula import ops

torch = pytest.importorskip("torch")
F = torch.nn.functional


def by_sequence(q, k, v, q_starts, k_starts, causal):
    """torch's attention, a sequence at a time."""
    out = []
    q_starts, k_starts = q_starts.tolist(), k_starts.tolist()
    for i in range(len(q_starts) - 1):
        part = q[q_starts[i] : q_starts[i + 1]].transpose(0, 1)
        both = (x[k_starts[i] : k_starts[i + 1]].transpose(0, 1) for x in (k, v))
        y = F.scaled_dot_product_attention(
            part[None], *(x[None] for x in both), is_causal=causal, enable_gqa=True
        )
        out.append(y[0].transpose(0, 1))
    return torch.cat(out)


@pytest.mark.parametrize("causal", [False, True])
def test_sequences_of_many_lengths(where, causal):
    """Four heads share two; one sequence is empty, one has a single token."""
    lengths = [7, 0, 1, 20] if where.is_emulated else [33, 0, 1, 70]
    starts = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    starts = starts.to(where.device)
    T, longest = sum(lengths), max(lengths)
    q = where.randn(T, 4, 24)
    k, v = (where.randn(T, 2, 24) for _ in range(2))
    compare(
        lambda *x: ops.attention_varlen(*x, starts, starts, longest, longest, causal),
        lambda *x: by_sequence(*x, starts, starts, causal),
        [q, k, v],
        "float32",
    )


def test_keys_of_other_lengths_than_queries(where):
    q_starts = torch.tensor([0, 3, 12], device=where.device)
    k_starts = torch.tensor([0, 17, 22], device=where.device)
    q, k, v = where.randn(12, 2, 16), where.randn(22, 2, 16), where.randn(22, 2, 16)
    compare(
        lambda *x: ops.attention_varlen(*x, q_starts, k_starts, 9, 17),
        lambda *x: by_sequence(*x, q_starts, k_starts, False),
        [q, k, v],
        "float32",
    )


# --- flex ---------------------------------------------------------------------------------
@tegula.jit
def alibi(s, batch, head, m, n):
    return s + (n - m) * tl.exp2(-2.0 * (head + 1))


@tegula.jit
def cap(s, batch, head, m, n):
    return 3.0 * (1.0 - 2.0 / (tl.exp(2.0 * s / 3.0) + 1.0))


@tegula.jit
def slope_of_cap(s, batch, head, m, n):
    t = 1.0 - 2.0 / (tl.exp(2.0 * s / 3.0) + 1.0)
    return 1.0 - t * t


def plain(q, k, v, change):
    n = q.shape[2]
    i = torch.arange(n, device=q.device)
    head = torch.arange(q.shape[1], device=q.device)[:, None, None]
    s = change(q @ k.mT / math.sqrt(q.shape[3]), head, i[:, None], i)
    return s.masked_fill(i > i[:, None], -math.inf).softmax(-1) @ v


@pytest.mark.parametrize("name", ["alibi", "cap"])
def test_scores_of_ones_own(where, name):
    ours, theirs = {
        "alibi": (
            {"score": alibi},
            lambda s, h, m, n: s + (n - m) * torch.exp2(-2.0 * (h + 1)),
        ),
        "cap": (
            {"score": cap, "slope": slope_of_cap},
            lambda s, h, m, n: 3 * torch.tanh(s / 3),
        ),
    }[name]
    compare(
        lambda q, k, v: ops.attention(q, k, v, causal=True, **ours),
        lambda q, k, v: plain(q, k, v, theirs),
        [where.randn(1, 2, 40, 16) for _ in range(3)],
        "float32",
    )


# --- pages --------------------------------------------------------------------------------
def paged(where, lengths, H, Hk, page, D, dtype):
    """A cache whose pages lie in no order, and the same keys one after the other."""
    pages = [-(-n // page) for n in lengths]
    order = torch.randperm(sum(pages) + 3)
    table = torch.zeros(len(lengths), max(pages), dtype=torch.int32)
    at = 0
    for i, n in enumerate(pages):
        table[i, :n] = order[at : at + n]
        at += n
    q = where.randn(len(lengths), H, D, dtype=dtype, grad=False)
    k, v = (
        where.randn(len(order), page, Hk, D, dtype=dtype, grad=False) for _ in range(2)
    )
    lengths = torch.tensor(lengths, dtype=torch.int32)
    return q, k, v, table.to(where.device), lengths.to(where.device)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("H, Hk", [(2, 2), (6, 2)])
def test_a_cache_in_pages(where, H, Hk, dtype):
    """Shares of one program and of several; sequences of no key and of one."""
    lengths = [70, 0, 1, 300] if where.is_emulated else [700, 0, 1, 3000]
    q, k, v, table, n = paged(where, lengths, H, Hk, 16, 24, dtype)
    got = ops.paged_attention(q, k, v, table, n)
    for i, length in enumerate(lengths):
        if not length:
            assert not got[i].any()
            continue
        mine = [
            x[table[i].long()].flatten(0, 1)[:length].double().transpose(0, 1)
            for x in (k, v)
        ]
        want = F.scaled_dot_product_attention(
            q[i, :, None].double(), *mine, enable_gqa=True
        )
        bound = {"float32": 2e-6, "bfloat16": 1.6e-2}[dtype]
        assert (got[i].double() - want[:, 0]).abs().max() <= bound


def test_pages_by_numpy():
    rng = np.random.default_rng(0)
    q = rng.standard_normal((1, 2, 8), dtype=np.float32)
    k, v = (rng.standard_normal((3, 4, 1, 8), dtype=np.float32) for _ in range(2))
    table, lengths = np.array([[2, 0]]), np.array([6])
    keys, values = (x[[2, 0]].reshape(8, 8)[:6] for x in (k, v))
    s = q[0] @ keys.T / math.sqrt(8)
    p = np.exp(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ values
    got = ops.paged_attention(q, k, v, table, lengths)
    np.testing.assert_allclose(got[0], want, atol=1e-6)


def test_what_is_refused():
    q, kv = torch.ones(2, 4, 8), torch.ones(3, 4, 2, 8)
    table, lengths = (
        torch.zeros(2, 1, dtype=torch.int32),
        torch.ones(2, dtype=torch.int32),
    )
    with pytest.raises(RuntimeError, match="no backward pass"):
        ops.paged_attention(q.requires_grad_(), kv, kv, table, lengths)
    q = q.detach()
    with pytest.raises(ValueError, match=r"expected \[2, pages\] and \[2\]"):
        ops.paged_attention(q, kv, kv, table[0], lengths)
    with pytest.raises(ValueError, match="3 heads of q are no multiple"):
        ops.paged_attention(q[:, :3], kv, kv, table, lengths)
    starts = torch.tensor([0, 2])
    with pytest.raises(ValueError, match=r"expected \[sequences \+ 1\]"):
        ops.attention_varlen(q, q, q, starts, starts[:1], 2, 2)
    with pytest.raises(TypeError, match="score is a function under @jit"):
        ops.attention(q[None], q[None], q[None], score=lambda s, *_: s)
