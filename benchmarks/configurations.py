"""Every configuration, not only the best: memory-bound kernels beside Triton's. GPU only.

    python benchmarks/configurations.py                      # all kernels
    python benchmarks/configurations.py column_sum rotary    # some
    python benchmarks/configurations.py --json out.json

A tuner that tries three configurations, or none, keeps what it is given, so each block size
and number of warps is a row of its own. The same source goes through Tegula and Triton with
the same configuration; calls take turns behind a write of 256 MB that empties the caches.
The last column is Triton's time over ours: above 1, we are faster. Results are compared
with Triton's, because the kernels themselves have tests elsewhere.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import libraries
import memory

import harness
import tegula as triton
import tegula.language as tl


# --- kernels -------------------------------------------------------------------------
def layer_norm_backward(dy_ptr, x_ptr, w_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(dy_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    g *= tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / n + 1e-5)
    z = d * scale
    a = tl.sum(g * z, axis=0) / n
    b = tl.sum(g, axis=0) / n
    tl.store(dx_ptr + row * n + cols, (g - z * a - b) * scale, mask=mask)


def softmax_backward(y_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    y = tl.load(y_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(dy_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    dx = y * (g - tl.sum(y * g, axis=0))
    tl.store(dx_ptr + row * n + cols, dx, mask=mask)


def online_loss(x_ptr, target_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * n
    peak = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(peak, tl.max(x, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(x - higher), axis=0)
        peak = higher
    picked = tl.load(x_ptr + tl.load(target_ptr + row)).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(total) + peak - picked)


def online_softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * n
    y_ptr += row * n
    peak = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(peak, tl.max(x, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(x - higher), axis=0)
        peak = higher
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
        tl.store(y_ptr + cols, tl.exp(x - peak) / total, mask=cols < n)


def group_norm(x_ptr, w_ptr, b_ptr, y_ptr, size, per, groups, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    base = pid.to(tl.int64) * size
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i, mask=i < size, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / size
    scale = tl.rsqrt(tl.sum(squares, axis=0) / size - mean * mean + 1e-5)
    first = (pid % groups) * (size // per)
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i, mask=i < size, other=0.0).to(tl.float32)
        channel = first + i // per
        w = tl.load(w_ptr + channel, mask=i < size, other=0.0)
        b = tl.load(b_ptr + channel, mask=i < size, other=0.0)
        tl.store(y_ptr + base + i, (x - mean) * scale * w + b, mask=i < size)


def rotary(x_ptr, cos_ptr, sin_ptr, y_ptr, heads, HALF: tl.constexpr, H: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, HALF)
    h = tl.arange(0, H)
    cos = tl.load(cos_ptr + token * HALF + d)[None, :]
    sin = tl.load(sin_ptr + token * HALF + d)[None, :]
    at = token * heads * 2 * HALF + h[:, None] * 2 * HALF + d[None, :]
    mask = (h < heads)[:, None] & (d < HALF)[None, :]
    a = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    b = tl.load(x_ptr + at + HALF, mask=mask).to(tl.float32)
    tl.store(y_ptr + at, a * cos - b * sin, mask=mask)
    tl.store(y_ptr + at + HALF, b * cos + a * sin, mask=mask)


def embedding(ids_ptr, table_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.load(ids_ptr + row)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(table_ptr + at * n + cols, mask=cols < n)
        tl.store(y_ptr + row * n + cols, x, mask=cols < n)


def embedding_backward(ids_ptr, dy_ptr, dw_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.load(ids_ptr + row)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(dy_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.atomic_add(dw_ptr + at * n + cols, g, mask=cols < n, sem="relaxed")


def histogram(x_ptr, h_ptr, n, per, BLOCK: tl.constexpr):
    first = tl.program_id(0) * per
    h = tl.zeros((256,), tl.int32)
    for start in range(first, first + per, BLOCK):
        i = start + tl.arange(0, BLOCK)
        h += tl.histogram(tl.load(x_ptr + i, mask=i < n, other=0).to(tl.int32), 256)
    tl.atomic_add(h_ptr + tl.arange(0, 256), h, sem="relaxed")


def arg_max(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    tl.store(y_ptr + row, tl.argmax(x.to(tl.float32), axis=0))


def top_values(x_ptr, y_ptr, n, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    tl.store(y_ptr + row * K + tl.arange(0, K), tl.topk(x.to(tl.float32), K))


def segment_sum(x_ptr, ids_ptr, y_ptr, rows, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    mask = (i < rows)[:, None] & (j < n)[None, :]
    ids = tl.load(ids_ptr + i, mask=i < rows, other=0)
    x = tl.load(x_ptr + i[:, None] * n + j[None, :], mask=mask, other=0.0)
    tl.atomic_add(y_ptr + ids[:, None] * n + j[None, :], x, mask=mask, sem="relaxed")


def quantise(x_ptr, y_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0) / 127.0, 1e-10)
    q = tl.floor(x / scale + 0.5)
    tl.store(y_ptr + row * n + cols, q.to(tl.int8), mask=cols < n)
    tl.store(scale_ptr + row, scale)


def cumsum_down(x_ptr, y_ptr, rows, n, M: tl.constexpr, N: tl.constexpr):
    j = tl.program_id(0) * N + tl.arange(0, N)
    carry = tl.zeros((N,), tl.float32)
    for start in range(0, rows, M):
        i = start + tl.arange(0, M)
        mask = (i < rows)[:, None] & (j < n)[None, :]
        at = i[:, None] * n + j[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0)
        tl.store(y_ptr + at, tl.cumsum(x, axis=0) + carry[None, :], mask=mask)
        carry += tl.sum(x, axis=0)


def conv1d(x_ptr, w_ptr, y_ptr, length, channels, M: tl.constexpr, N: tl.constexpr):
    t = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.program_id(1) * N + tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for k in tl.static_range(4):
        s = t - 3 + k
        mask = ((s >= 0) & (s < length))[:, None] & (c < channels)[None, :]
        x = tl.load(x_ptr + s[:, None] * channels + c[None, :], mask=mask, other=0.0)
        w = tl.load(w_ptr + k * channels + c, mask=c < channels, other=0.0)
        acc += x.to(tl.float32) * w.to(tl.float32)[None, :]
    y = acc * tl.sigmoid(acc)
    mask = (t < length)[:, None] & (c < channels)[None, :]
    tl.store(y_ptr + t[:, None] * channels + c[None, :], y, mask=mask)


def sparse_matvec(start_ptr, col_ptr, val_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = tl.load(start_ptr + row)
    last = tl.load(start_ptr + row + 1)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(first, last, BLOCK):
        i = start + tl.arange(0, BLOCK)
        cols = tl.load(col_ptr + i, mask=i < last, other=0)
        acc += tl.load(val_ptr + i, mask=i < last, other=0.0) * tl.load(x_ptr + cols)
    tl.store(y_ptr + row, tl.sum(acc, axis=0))


def swiglu(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * n + cols, mask=cols < n).to(tl.float32)
    b = tl.load(b_ptr + row * n + cols, mask=cols < n).to(tl.float32)
    tl.store(y_ptr + row * n + cols, a * tl.sigmoid(a) * b, mask=cols < n)


def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(acc, axis=0))


def weight_gradient(dy_ptr, x_ptr, dw_ptr, rows, n, M: tl.constexpr, N: tl.constexpr):
    j = tl.program_id(0) * N + tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, rows, M):
        i = start + tl.arange(0, M)
        mask = (i < rows)[:, None] & (j < n)[None, :]
        at = i[:, None] * n + j[None, :]
        g = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        acc += g * tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(dw_ptr + j, tl.sum(acc, axis=0), mask=j < n)


# --- cases ---------------------------------------------------------------------------
Launch = Callable[..., Any]


@dataclass
class Case:
    """A kernel at one size: run(kernel, **config) launches it and returns its results."""

    name: str
    size: str
    kernel: Callable[..., None]
    run: Launch
    configs: list[dict[str, int]]
    n_bytes: int
    tolerance: float = 2e-2
    rows: list[dict[str, Any]] = field(default_factory=list)


def warps(*choices: int, **fixed: int) -> list[dict[str, int]]:
    return [{**fixed, "num_warps": w} for w in choices]


def tiles(
    *choices: tuple[int, int, int], m: str = "M", n: str = "N"
) -> list[dict[str, int]]:
    return [{m: a, n: b, "num_warps": w} for a, b, w in choices]


COLUMN_TILES = tiles(
    (32, 32, 4), (32, 64, 4), (64, 32, 4), (64, 64, 8), (128, 32, 4), (128, 32, 8),
    (128, 32, 16), (256, 32, 8), (64, 128, 8), (16, 128, 4), (16, 256, 4), (32, 128, 16),
    (16, 64, 4),
)  # fmt: skip


def cases() -> Iterator[Case]:
    torch = harness.torch_or_none()
    torch.manual_seed(0)
    bf16, f32 = torch.bfloat16, torch.float32

    def random(*shape: int, dtype: Any = bf16) -> Any:
        return torch.randn(*shape, device="cuda", dtype=f32).to(dtype)

    def empty(*shape: int, dtype: Any = bf16) -> Any:
        return torch.full(shape, float("nan"), device="cuda", dtype=dtype)

    def rows(ins: list[Any], out: Any, extra: tuple[Any, ...] = ()) -> Launch:
        """A program a row: kernel(*ins, out, n, *extra, BLOCK)."""
        m, n = ins[0].shape

        def run(k: Any, BLOCK: int = triton.next_power_of_2(n), **c: int) -> Any:
            k[(m,)](*ins, out, n, *extra, BLOCK=BLOCK, **c)
            return out

        return run

    every = warps(1, 2, 4, 8, 16)
    wide = warps(4, 8, 16, 32)
    for m, n, configs in (
        (8192, 1024, every), (8192, 4096, every), (4096, 12288, wide), (4096, 32768, wide)
    ):  # fmt: skip
        x, y, g = random(m, n), empty(m, n), random(m, n)
        size, moved = f"{m}x{n} bf16", 2 * m * n
        yield Case("softmax", size, memory.softmax, rows([x], y), configs, 2 * moved)
        s = x.float().softmax(1).to(bf16)
        run = rows([s, g], y)
        yield Case("softmax_backward", size, softmax_backward, run, configs, 3 * moved)
        w, b = random(n), random(n)
        run = rows([x, w, b], y, (1e-5,))
        yield Case("layer_norm", size, memory.layer_norm, run, configs, 2 * moved)
        run = rows([g, x, w], y)
        yield Case(
            "layer_norm_backward", size, layer_norm_backward, run, configs, 3 * moved
        )
        run = rows([x, g], y)
        yield Case("swiglu", size, swiglu, run, configs, 3 * moved)
        q = torch.zeros(m, n, device="cuda", dtype=torch.int8)
        scale = empty(m, dtype=f32)

        def run_quantise(k: Any, x=x, q=q, scale=scale, **c: int) -> Any:
            m, n = x.shape
            k[(m,)](x, q, scale, n, BLOCK=triton.next_power_of_2(n), **c)
            return scale

        yield Case("quantise", size, quantise, run_quantise, configs, moved * 3 // 2)
        best = torch.zeros(m, device="cuda", dtype=torch.int32)
        yield Case("arg_max", size, arg_max, rows([x], best), configs, moved)
        target = torch.randint(0, n, (m,), device="cuda")
        loss = empty(m, dtype=f32)
        run = rows([x, target], loss)
        yield Case("cross_entropy", size, memory.cross_entropy, run, configs, moved)
        if n >= 12288:
            loops = [c for b in (1024, 4096, 8192) for c in warps(4, 8, 16, BLOCK=b)]
            yield Case("online_loss", size, online_loss, run, loops, moved)
            run = rows([x], y)
            yield Case("online_softmax", size, online_softmax, run, loops, 2 * moved)
            run = rows([x], loss)
            yield Case("row_sum", size, row_sum, run, loops, moved)
            run = rows([x, w], y, (1e-6,))
            yield Case("rms_norm", size, memory.rms_norm, run, loops, 2 * moved)
    x, y = random(16384, 4096, dtype=f32), empty(16384, 4096, dtype=f32)
    run = rows([x], y)
    yield Case("cumsum", "16384x4096 f32", memory.cumsum, run, every, 8 * x.numel())
    top = empty(8192, 16, dtype=f32)
    x = random(8192, 1024)

    def run_top(k: Any, x=x, **c: int) -> Any:
        k[(8192,)](x, top, 1024, BLOCK=1024, K=16, **c)
        return top

    yield Case(
        "top_values", "8192x1024 bf16", top_values, run_top, every, 2 * x.numel()
    )

    x, total = random(16384, 8192, dtype=f32), empty(8192, dtype=f32)

    def run_column_sum(k: Any, x=x, M: int = 0, N: int = 0, **c: int) -> Any:
        k[(triton.cdiv(8192, N),)](x, total, 16384, 8192, BLOCK_M=M, BLOCK_N=N, **c)
        return total

    size = "16384x8192 f32"
    yield Case(
        "column_sum",
        size,
        memory.column_sum,
        run_column_sum,
        COLUMN_TILES,
        4 * x.numel(),
    )
    y = empty(16384, 8192, dtype=f32)

    def run_cumsum_down(k: Any, x=x, y=y, M: int = 0, N: int = 0, **c: int) -> Any:
        k[(triton.cdiv(8192, N),)](x, y, 16384, 8192, M=M, N=N, **c)
        return y

    few = tiles((32, 32, 4), (64, 32, 4), (64, 64, 8), (128, 32, 8))
    yield Case("cumsum_down", size, cumsum_down, run_cumsum_down, few, 8 * x.numel())
    x, g = random(16384, 8192), random(16384, 8192)

    def run_weight(k: Any, x=x, g=g, M: int = 0, N: int = 0, **c: int) -> Any:
        k[(triton.cdiv(8192, N),)](g, x, total, 16384, 8192, M=M, N=N, **c)
        return total

    size = "16384x8192 bf16"
    yield Case(
        "weight_gradient",
        size,
        weight_gradient,
        run_weight,
        COLUMN_TILES,
        4 * x.numel(),
    )
    y, w = empty(16384, 8192), random(4, 8192)

    def run_conv(k: Any, x=x, y=y, w=w, M: int = 0, N: int = 0, **c: int) -> Any:
        grid = (triton.cdiv(16384, M), triton.cdiv(8192, N))
        k[grid](x, w, y, 16384, 8192, M=M, N=N, **c)
        return y

    some = tiles(
        (16, 64, 4), (32, 64, 4), (32, 128, 4), (64, 64, 8), (16, 256, 4), (8, 512, 8)
    )
    yield Case("conv1d", size, conv1d, run_conv, some, 4 * x.numel())
    ids = torch.randint(0, 1024, (16384,), device="cuda")
    x = random(16384, 1024, dtype=f32)

    def run_segments(k: Any, x=x, ids=ids, M: int = 0, N: int = 0, **c: int) -> Any:
        y = torch.zeros(1024, 1024, device="cuda")
        k[(triton.cdiv(16384, M), triton.cdiv(1024, N))](
            x, ids, y, 16384, 1024, M=M, N=N, **c
        )
        return y

    some = tiles((1, 1024, 4), (4, 256, 4), (16, 64, 4), (32, 128, 8))
    yield Case(
        "segment_sum", "16384x1024 f32", segment_sum, run_segments, some, 4 * x.numel()
    )
    table = random(50257, 4096)
    ids = torch.randint(0, 50257, (8192,), device="cuda")
    y = empty(8192, 4096)

    def run_embedding(k: Any, BLOCK: int, table=table, ids=ids, y=y, **c: int) -> Any:
        k[(8192,)](ids, table, y, 4096, BLOCK=BLOCK, **c)
        return y

    some = [c for b in (512, 1024, 4096) for c in warps(1, 2, 4, 8, BLOCK=b)]
    yield Case(
        "embedding", "8192x4096 bf16", embedding, run_embedding, some, 4 * y.numel()
    )
    g = random(8192, 4096, dtype=f32)
    dw = torch.zeros(50257, 4096, device="cuda")

    def run_embedding_backward(k: Any, BLOCK: int, g=g, ids=ids, **c: int) -> Any:
        k[(8192, triton.cdiv(4096, BLOCK))](ids, g, dw, 4096, BLOCK=BLOCK, **c)

    yield Case("embedding_backward", "8192x4096 f32", embedding_backward,
               run_embedding_backward, some, 12 * g.numel())  # fmt: skip
    x = torch.randint(0, 256, (1 << 26,), device="cuda", dtype=torch.uint8)

    def run_histogram(k: Any, BLOCK: int, x=x, **c: int) -> Any:
        h = torch.zeros(256, device="cuda", dtype=torch.int32)
        k[(1024,)](x, h, 1 << 26, 1 << 16, BLOCK=BLOCK, **c)
        return h

    some = [c for b in (1024, 4096) for c in warps(4, 8, BLOCK=b)]
    yield Case("histogram", "2^26 u8", histogram, run_histogram, some, x.numel())
    x, y = random(8192, 32, 128), empty(8192, 32, 128)
    cos, sin = random(8192, 64, dtype=f32), random(8192, 64, dtype=f32)

    def run_rotary(k: Any, x=x, y=y, **c: int) -> Any:
        k[(8192,)](x, cos, sin, y, 32, HALF=64, H=32, **c)
        return y

    yield Case("rotary", "8192x32x128 bf16", rotary, run_rotary, every, 4 * x.numel())
    x, y = random(256 * 32, 16384), empty(256 * 32, 16384)
    w, b = random(512, dtype=f32), random(512, dtype=f32)

    def run_group_norm(k: Any, BLOCK: int, x=x, y=y, w=w, b=b, **c: int) -> Any:
        k[(8192,)](x, w, b, y, 16384, 1024, 32, BLOCK=BLOCK, **c)
        return y

    some = [c for b in (1024, 2048, 4096) for c in warps(4, 8, BLOCK=b)]
    yield Case(
        "group_norm",
        "256x512x1024 bf16",
        group_norm,
        run_group_norm,
        some,
        4 * x.numel(),
    )
    counts = torch.randint(64, 1024, (32768,), device="cuda")
    starts = torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int()
    nnz = int(starts[-1])
    cols = torch.randint(0, 1 << 20, (nnz,), device="cuda", dtype=torch.int32)
    values, v, y = (
        random(nnz, dtype=f32),
        random(1 << 20, dtype=f32),
        empty(32768, dtype=f32),
    )

    def run_sparse(k: Any, BLOCK: int, **c: int) -> Any:
        k[(32768,)](starts, cols, values, v, y, BLOCK=BLOCK, **c)
        return y

    some = [c for b in (128, 256, 512) for c in warps(1, 2, 4, BLOCK=b)]
    yield Case("sparse_matvec", "32768 rows", sparse_matvec, run_sparse, some, 8 * nnz)
    for name, dtype in (("f32", f32), ("bf16", bf16), ("i8", torch.int8)):
        x = (random(8192, 8192, dtype=f32) * 20).to(dtype)
        y = torch.zeros_like(x)

        def run_transpose(k: Any, BLOCK: int, x=x, y=y, **c: int) -> Any:
            grid = (triton.cdiv(8192, BLOCK), triton.cdiv(8192, BLOCK))
            k[grid](x, y, 8192, 8192, BLOCK=BLOCK, **c)
            return y

        some = [c for b in (32, 64, 128) for c in warps(4, 8, BLOCK=b)]
        yield Case("transpose", f"8192^2 {name}", memory.transpose, run_transpose, some,
                   2 * x.numel() * x.element_size())  # fmt: skip
    n = 1 << 26
    x, y = random(n, dtype=f32), empty(n, dtype=f32)

    def run_dropout(k: Any, BLOCK: int, x=x, y=y, **c: int) -> Any:
        k[(triton.cdiv(n, BLOCK),)](x, y, n, 0.5, 123, BLOCK=BLOCK, **c)
        return y

    some = [c for b in (512, 1024, 4096) for c in warps(2, 4, 8, BLOCK=b)]
    yield Case("dropout", "2^26 f32", memory.dropout, run_dropout, some, 8 * n)
    z = random(n, dtype=f32)

    def run_add(k: Any, BLOCK: int, x=x, y=y, z=z, **c: int) -> Any:
        k[(triton.cdiv(n, BLOCK),)](x, z, y, n, BLOCK=BLOCK, **c)
        return y

    yield Case("add", "2^26 f32", memory.add, run_add, some, 12 * n)

    def launch(
        args: list[Any], out: int, grid: Callable[..., Any], **fixed: int
    ) -> Launch:
        def run(k: Any, **c: int) -> Any:
            k[grid(**c)](*args, **fixed, **c)
            return args[out]

        return run

    # Kernels as libraries and torch.compile write them.
    f8, f16, cdiv = torch.float8_e4m3fn, torch.float16, triton.cdiv
    m, n = 8192, 4096
    x, r, w = random(m, n), random(m, n), random(n)
    args = [x, r * 0, w, empty(m, n).to(f8), empty(m, dtype=f32), n, 1e-6]
    run = launch(args, 3, lambda **c: (8192,), BLOCK=n)
    yield Case(
        "add_norm_quantise",
        "8192x4096 bf16",
        libraries.add_norm_quantise,
        run,
        every,
        7 * m * n,
    )
    k, n = 4096, 14336
    word = lambda *shape: torch.randint(
        -(2**31), 2**31 - 1, shape, device="cuda", dtype=torch.int32
    )
    args = [
        word(k, n // 8),
        random(k // 128, n, dtype=f16),
        word(k // 128, n // 8),
        empty(k, n, dtype=f16),
        k,
        n,
    ]
    run = launch(args, 3, lambda M, W, **c: (4096 // M, 1792 // W), GROUP=128)
    some = tiles((16, 16, 4), (64, 32, 8), (128, 16, 4), (8, 64, 4), (1, 64, 1), n="W")
    yield Case(
        "dequantise", "4096x14336 int4", libraries.dequantise, run, some, 5 * k * n // 2
    )
    x = random(64, 512, 2048)
    run = launch([x, torch.empty_like(x), 512, 2048], 1, lambda N, **c: (2048 // N, 64))
    some = tiles(
        (32, 32, 4),
        (64, 16, 4),
        (64, 64, 8),
        (32, 128, 8),
        (16, 16, 1),
        (256, 4, 4),
        m="N",
        n="R",
    )
    yield Case(
        "middle_softmax",
        "64x512x2048 bf16",
        libraries.middle_softmax,
        run,
        some,
        4 * x.numel(),
    )
    x = random(32768, 256, dtype=f32)
    run = launch([x, torch.empty_like(x), 256], 1, lambda M, **c: (32768 // M,), N=256)
    some = [
        {"M": a, "num_warps": b}
        for a, b in ((1, 1), (1, 4), (4, 4), (8, 4), (2, 1), (8, 8))
    ]
    yield Case(
        "sort_rows", "32768x256 f32", libraries.sort_rows, run, some, 8 * x.numel()
    )
    b, t, d = 8, 1024, 4096
    args = [random(b, t, d), random(b, t, d).sigmoid(), -random(d, 16, dtype=f32).abs()]
    args += [
        random(b, t, 16, dtype=f32),
        random(b, t, 16, dtype=f32),
        empty(b, t, d),
        t,
        d,
    ]
    run = launch(args, 5, lambda BLOCK, **c: (4096 // BLOCK, 8), N=16)
    some = [
        {"BLOCK": a, "num_warps": b}
        for a, b in ((32, 1), (32, 4), (64, 2), (64, 4), (16, 1))
    ]
    yield Case(
        "selective_scan",
        "8x1024x4096x16",
        libraries.selective_scan,
        run,
        some,
        6 * b * t * d,
    )
    m, n = 4096, 32000
    logs = [torch.log_softmax(random(m, n, dtype=f32), 1).to(bf16) for _ in range(2)]
    run = launch(
        [*logs, empty(m, n, dtype=f32), empty(m, n), n, 0.5], 3, lambda **c: (4096,)
    )
    some = [c for b in (1024, 4096, 8192) for c in warps(4, 8, 16, BLOCK=b)]
    yield Case(
        "divergence", "4096x32000 bf16", libraries.divergence, run, some, 10 * m * n
    )
    x, y = random(16, 64, 112, 112), empty(16, 64 * 9, 112 * 112)
    run = launch(
        [x, y, 64, 112, 112], 1, lambda M, N, **c: (cdiv(576, M), cdiv(12544, N), 16)
    )
    some = tiles((1, 256, 4), (1, 1024, 4), (8, 128, 4), (32, 32, 4), (16, 256, 8))
    yield Case(
        "im2col", "16x64x112x112 bf16", libraries.im2col, run, some, 20 * x.numel()
    )
    x, y = random(2048, 64, 64), empty(2048, 128, 128)
    run = launch([x, y, y.numel(), 64, 64], 1, lambda X, **c: (2048 * 128 * 128 // X,))
    some = [
        {"X": a, "num_warps": b}
        for a, b in ((128, 4), (512, 4), (1024, 4), (256, 1), (2048, 8))
    ]
    yield Case(
        "upsample", "2048x64x64 bf16", libraries.upsample, run, some, 10 * x.numel()
    )
    m = 65536
    args = [
        random(m, 64),
        empty(m, 4, dtype=f32),
        torch.zeros(m, 4, device="cuda", dtype=torch.int32),
        m,
    ]
    run = launch(args, 1, lambda M, **c: (65536 // M,), E=64, K=4)
    some = [
        {"M": a, "num_warps": b} for a, b in ((1, 1), (4, 4), (16, 4), (32, 4), (8, 2))
    ]
    yield Case(
        "top_experts", "65536x64 bf16", libraries.top_experts, run, some, 128 * m
    )
    m, n = 8192, 4096
    at = torch.randperm(m * 4, device="cuda").int()
    args = [random(m * 4, n), at, random(m, 4, dtype=f32), empty(m, n), n, 4]
    run = launch(args, 3, lambda BLOCK, **c: (8192, 4096 // BLOCK))
    some = [
        {"BLOCK": a, "num_warps": b}
        for a, b in ((256, 1), (512, 4), (1024, 4), (4096, 4), (2048, 2))
    ]
    yield Case(
        "combine", "8192x4096 of 4 bf16", libraries.combine, run, some, 10 * m * n
    )
    x, t = random(16384, 32, 128), random(2, 16384, 64, dtype=f32)
    run = launch(
        [x, t[0], t[1], torch.empty_like(x), 16384, 32],
        3,
        lambda M, **c: (16384 // M, 32),
        HALF=64,
    )
    some = [
        {"M": a, "num_warps": b} for a, b in ((4, 1), (8, 4), (16, 4), (32, 8), (64, 4))
    ]
    yield Case(
        "rotary_pairs",
        "16384x32x128 bf16",
        libraries.rotary_pairs,
        run,
        some,
        4 * x.numel(),
    )
    x = random(8192, 8192, dtype=f32)
    run = launch(
        [x, empty(8192, dtype=f32), 8192, 8192], 1, lambda X, **c: (8192 // X,)
    )
    some = tiles(
        (1, 1024, 4),
        (8, 256, 4),
        (32, 64, 8),
        (64, 8, 4),
        (16, 128, 8),
        (64, 64, 16),
        m="X",
        n="R",
    )
    yield Case(
        "inner_sum", "8192x8192 f32", libraries.inner_sum, run, some, 4 * x.numel()
    )

    n = 1 << 24
    moments = [random(n, dtype=f32), random(n, dtype=f32).square()]
    args = [random(n, dtype=f32), random(n, dtype=f32), *moments, empty(n, dtype=f32)]
    args += [torch.zeros(2, device="cuda"), n, 1.0, 1.0, 1e-6, 0.01]
    run = launch(args, 4, lambda BLOCK, **c: (cdiv(n, BLOCK),))
    some = [c for b in (512, 2048, 4096) for c in warps(4, 16, BLOCK=b)]
    yield Case("lamb_norms", "2^24 f32", libraries.lamb_norms, run, some, 28 * n)
    x, mean = random(32, 512, 3136), empty(512, dtype=f32)
    args = [x, mean, torch.empty_like(mean), 32, 512, 3136]
    run = launch(args, 2, lambda **c: (512,))
    some = [c for b in (512, 1024, 4096) for c in warps(4, 8, 16, BLOCK=b)]
    yield Case(
        "batch_norm_stats",
        "32x512x3136 bf16",
        libraries.batch_norm_stats,
        run,
        some,
        2 * x.numel(),
    )
    m, n = 512, 32000
    p = random(m, n, dtype=f32).softmax(1)
    run = launch(
        [p, torch.empty_like(p), n, 0.9], 1, lambda **c: (512,), BLOCK=32768, STEPS=20
    )
    yield Case(
        "top_p", "512x32000 f32", libraries.top_p, run, warps(4, 8, 16), 8 * m * n
    )
    m, n = 64, 11008
    args = [random(m, 16, dtype=f32) * 0, random(m, n, 16)]  # y stays as it is
    args += [torch.arange(m, device="cuda").int(), random(m, n, dtype=f32) * 0, 16, n]
    run = launch(args, 3, lambda **c: (16, 64), K=16)
    some = [
        {"BN": a, "num_warps": b}
        for a, b in ((32, 2), (64, 2), (64, 4), (64, 8), (128, 4), (512, 8))
    ]
    yield Case(
        "bgmv_expand",
        "64x11008x16 bf16",
        libraries.bgmv_expand,
        run,
        some,
        32 * m * n,
    )
    m, n = 16384, 4096
    args = [torch.randint(0, n, (m,), device="cuda"), empty(m, n), m, n]
    run = launch(args, 1, lambda M, N, **c: (16384 // M, 4096 // N))
    some = tiles((1, 1024, 4), (8, 128, 8), (32, 512, 4), (32, 512, 16), (32, 1024, 4))
    yield Case("one_hot", "16384x4096 bf16", libraries.one_hot, run, some, 2 * m * n)
    m, n = 8192, 5120
    args = [random(m, n), random(n), empty(m, n).to(f8), empty(m, n // 128, dtype=f32)]
    run = launch([*args, n, 1e-6], 3, lambda **c: (8192,), BLOCK=8192, G=128)
    yield Case(
        "norm_groups_f8",
        "8192x5120 bf16",
        libraries.norm_groups_f8,
        run,
        every,
        3 * m * n,
    )
    m, n = 8192, 4096
    x = random(m, n, dtype=f32)
    run = launch(
        [x, torch.empty_like(x), m, n, 0.1],
        1,
        lambda M, N, **c: (8192 // M, 4096 // N),
    )
    some = tiles((1, 512, 4), (8, 32, 2), (8, 512, 2), (32, 32, 1), (32, 512, 8))
    yield Case(
        "stencil_2d", "8192x4096 f32", libraries.stencil_2d, run, some, 8 * m * n
    )
    m, n = 64, 1 << 18
    x = random(m, n, dtype=f32)
    run = launch(
        [x, torch.empty_like(x), n],
        1,
        lambda BLOCK, **c: ((1 << 18) // BLOCK, 64),
        WINDOW=16,
    )
    some = [
        {"BLOCK": a, "num_warps": b}
        for a, b in ((512, 2), (512, 8), (1024, 2), (1024, 4), (1024, 16))
    ]
    yield Case(
        "sliding_variance",
        "64x2^18 f32",
        libraries.sliding_variance,
        run,
        some,
        8 * m * n,
    )


# --- measuring -----------------------------------------------------------------------
def relative(got: Any, want: Any) -> float:
    got, want = got.double(), want.double()
    return float((got - want).norm() / want.norm().clamp_min(1e-30))


def measure(case: Case, contenders: dict[str, Any], repeats: int) -> None:
    """Adds a row for each configuration: ms of each contender, in turns."""
    torch = harness.torch_or_none()
    for config in case.configs:
        row: dict[str, Any] = {"config": config, "ms": {}, "error": {}}
        ready: dict[str, Callable[[], Any]] = {}
        for who, kernel in contenders.items():
            fn = lambda kernel=kernel, config=config: case.run(kernel, **config)
            try:
                got = fn()
                torch.cuda.synchronize()
            except Exception as e:  # a contender may refuse a configuration
                row["error"][who] = f"{type(e).__name__}: {e}"[:200]
                continue
            ready[who] = fn
            row["error"][who] = got.clone() if got is not None else None
        row["ms"] = harness.in_turn(ready, repeats)
        reference = row["error"].get("triton")
        for who in ready:
            got = row["error"][who]
            same = got is None or reference is None or who == "triton"
            row["error"][who] = 0.0 if same else relative(got, reference)
        case.rows.append(row)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="kernels; all without one")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--json", help="write every row here")
    args = parser.parse_args()
    if not harness.has_gpu():
        raise SystemExit("benchmarks/configurations.py wants a GPU and torch")
    speeds, out = [], []
    print(
        f"{'kernel':20} {'size':18} {'configuration':32} {'GB/s':>6} {'Triton':>6}  ratio"
    )
    for case in cases():
        if args.names and case.name not in args.names:
            continue
        contenders = {"tegula": triton.jit(case.kernel)}
        theirs = harness.triton_kernel(case.kernel, "cuda")
        if theirs is not None:
            contenders["triton"] = theirs
        measure(case, contenders, args.repeats)
        for row in case.rows:
            ms, config = row["ms"], harness.words(row["config"])
            rate = {who: case.n_bytes / t / 1e6 for who, t in ms.items()}
            ratio = ms.get("triton", math.nan) / ms.get("tegula", math.nan)
            if not math.isnan(ratio):
                speeds.append(ratio)
            wrong = [w for w, e in row["error"].items()
                     if isinstance(e, str) or not e <= case.tolerance]  # fmt: skip
            what = f"{case.name:20} {case.size:18} {config:32}"
            ours, theirs_rate = rate.get("tegula", 0), rate.get("triton", 0)
            print(
                f"{what} {ours:6.0f} {theirs_rate:6.0f} {ratio:6.2f} {' '.join(wrong)}"
            )
            out.append({"name": case.name, "size": case.size, **row})
    if speeds:
        print(f"{len(speeds)} configurations beside Triton: geometric mean "
              f"{geometric_mean(speeds):.3f}, least {min(speeds):.2f}")  # fmt: skip
    if args.json:
        with open(args.json, "w") as file:
            json.dump(out, file, indent=1, default=str)


if __name__ == "__main__":
    main()
