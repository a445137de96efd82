"""softmax(Q K^T / sqrt(D)) V, online: one program owns a block of queries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    scale,
    n,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
    EVEN: tl.constexpr,
):
    """EVEN: n is a multiple of BM and BN, so nothing needs a mask."""
    pid = tl.program_id(0)
    if CAUSAL:
        pid = tl.num_programs(0) - 1 - pid  # the longest rows first: no late giants
    start = pid * BM
    head = tl.program_id(1).to(tl.int64) * n * D
    rows = start + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    q_ptrs = q_ptr + head + rows[:, None] * D + d[None, :]
    if EVEN:
        q = tl.load(q_ptrs)
    else:
        q = tl.load(q_ptrs, mask=rows[:, None] < n, other=0.0)
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    # Causally, blocks left of the diagonal hide nothing; only the second loop masks.
    for DIAGONAL in tl.static_range(2 if CAUSAL else 1):
        first = start // BN * BN if DIAGONAL else 0
        last = n
        if CAUSAL:
            last = tl.minimum(start + BM, n) if DIAGONAL else start // BN * BN
        for at in range(first, last, BN):
            keys = at + cols
            k_ptrs = k_ptr + head + keys[None, :] * D + d[:, None]
            v_ptrs = v_ptr + head + keys[:, None] * D + d[None, :]
            if EVEN:
                k = tl.load(k_ptrs)
            else:
                k = tl.load(k_ptrs, mask=keys[None, :] < n, other=0.0)
            s = tl.dot(q, k, input_precision="ieee")
            if not EVEN:
                s = tl.where(keys[None, :] < n, s, -float("inf"))
            if DIAGONAL:
                s = tl.where(keys[None, :] <= rows[:, None], s, -float("inf"))
            # exp2 of scores in units of log2(e), which scale includes.
            new_peak = tl.maximum(peak, tl.max(s, axis=1) * scale)
            p = tl.exp2(s * scale - new_peak[:, None])
            shrink = tl.exp2(peak - new_peak)
            total = total * shrink + tl.sum(p, axis=1)
            if EVEN:
                v = tl.load(v_ptrs)
            else:
                v = tl.load(v_ptrs, mask=keys[:, None] < n, other=0.0)
            acc = acc * shrink[:, None]
            acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
            peak = new_peak
    o = (acc / total[:, None]).to(o_ptr.dtype.element_ty)
    o_ptrs = o_ptr + head + rows[:, None] * D + d[None, :]
    if EVEN:
        tl.store(o_ptrs, o)
    else:
        tl.store(o_ptrs, o, mask=rows[:, None] < n)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """One head at a time: the scores of all of them would fill the memory."""
    n, width = q.shape[-2:]
    out = np.empty_like(q)
    hidden = np.triu(np.ones((n, n), bool), 1) if causal else None
    for i in np.ndindex(q.shape[:-2]):
        s = q[i] @ k[i].T / math.sqrt(width)
        if hidden is not None:
            s[hidden] = -np.inf
        s = np.exp(s - s.max(axis=-1, keepdims=True))
        out[i] = s / s.sum(axis=-1, keepdims=True) @ v[i]
    return out


def reference(q, k, v, causal):
    """In float64, on the machine that holds the operands."""
    if isinstance(q, np.ndarray):
        return attention(q, k, v, causal)
    sdpa = harness.torch_or_none().nn.functional.scaled_dot_product_attention
    return harness.to_numpy(sdpa(q, k, v, is_causal=causal))


GPU_CONFIGS = [
    {"BM": m, "BN": n, "num_warps": w, "num_stages": s}
    for m, n, w, s in (
        (128, 64, 8, 3),
        (128, 64, 4, 2),
        (128, 64, 4, 3),
        (128, 128, 8, 2),
        (64, 64, 4, 3),
        (128, 32, 4, 4),
    )
]
# Two programs of this fit a multiprocessor with 128 registers, one with the 130 it takes.
GPU_CONFIGS.append({**GPU_CONFIGS[0], "maxnreg": 128})


def flash_attention(torch, ts, causal):
    """torch's FlashAttention-2, whatever it would choose by itself."""
    attention = torch.nn.attention
    with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(*ts, is_causal=causal)


def cases(device: str) -> Iterator[harness.Case]:
    kernel = triton.jit(attention_kernel)
    torch = harness.torch_or_none()
    rng = np.random.default_rng(0)
    gpu = device == "cuda"
    kind = np.float16 if gpu else np.float32
    sizes = (
        ((4, 16, 2048, 128), (1, 16, 8192, 64), (1, 16, 8192, 128))
        if gpu
        else ((1, 4, 512, 64),)
    )
    for batch, heads, n, width in sizes:
        for causal in (False, True):
            shape = (batch, heads, n, width)
            q, k, v = (rng.standard_normal(shape).astype(kind) for _ in range(3))
            # Two products of 2 n n d; causally half of it.
            flops = 4 * batch * heads * n * n * width // (2 if causal else 1)
            wide = [harness.float64(a, device) for a in (q, k, v)]
            case = harness.Case(
                "attention",
                f"{batch}x{heads}x{n}x{width} {np.dtype(kind)}{' causal' * causal}",
                reference(*wide, causal),
                n_bytes=4 * q.nbytes,
                flops=flops,
            )
            args = [harness.to_device(a, device) for a in (q, k, v, np.empty_like(q))]
            scale = math.log2(math.e) / math.sqrt(width)

            def run(
                k, args=args, heads=batch * heads, causal=causal, scale=scale, **opts
            ):
                n, width = args[0].shape[2:]
                even = n % opts["BM"] == 0 and n % opts["BN"] == 0
                extra = {"D": width, "CAUSAL": causal, "EVEN": even, **opts}
                k[(triton.cdiv(n, opts["BM"]), heads)](*args, scale, n, **extra)
                return args[3]

            configs = GPU_CONFIGS if gpu else [{"BM": 64, "BN": 64}]
            case.add("tegula", harness.Best(partial(run, kernel), configs, device))
            if not gpu:
                case.add("numpy", lambda a=(q, k, v), c=causal: attention(*a, c))
            if torch is not None:
                ts = [torch.from_numpy(a).to(device) for a in (q, k, v)]
                sdpa = torch.nn.functional.scaled_dot_product_attention
                case.add("torch", lambda ts=ts, c=causal, f=sdpa: f(*ts, is_causal=c))
                if gpu:
                    case.add("torch flash", partial(flash_attention, torch, ts, causal))
            theirs = harness.triton_kernel(attention_kernel, device)
            if theirs is not None:
                case.add("triton", harness.Best(partial(run, theirs), configs, device))
            yield case
