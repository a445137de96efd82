"""Plain kernels on one thread of a CPU, as tutorials write them, beside NumPy and torch.

python benchmarks/plain_cpu.py [names]      from a release build (make build)

What none of the other files measures: places that are bounded or taken apart, pairs and
triples side by side, blocks that are transposed, distances to a few points, random numbers,
sorts, running sums, counts, codebooks.
Times are CPU times of this process, medians of calls in turn, so other jobs move them
little; results are compared first.
"""

from __future__ import annotations

import os

os.environ["TEGULA_NUM_THREADS"] = "1"

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import tegula as triton
import tegula.language as tl

Case = tuple[str, Callable[[], object], Callable[[], Any], Any]


@triton.jit
def blur_kernel(x_ptr, y_ptr, H, W, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    total = tl.zeros((ROWS, COLS), tl.float32)
    for i in tl.static_range(-1, 2):
        for j in tl.static_range(-1, 2):
            r = tl.minimum(tl.maximum(row + i, 0), H - 1)
            c = tl.minimum(tl.maximum(col + j, 0), W - 1)
            total += tl.load(x_ptr + r * W + c)
    tl.store(y_ptr + row * W + col, total / 9, mask=(row < H) & (col < W))


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, HEADS, D: tl.constexpr):
    row = tl.program_id(0) * HEADS + tl.program_id(1)
    pair = tl.arange(0, D // 2)
    at = row * D + 2 * pair
    a, b = tl.load(x_ptr + at), tl.load(x_ptr + at + 1)
    cos = tl.load(cos_ptr + tl.program_id(0) * (D // 2) + pair)
    sin = tl.load(sin_ptr + tl.program_id(0) * (D // 2) + pair)
    tl.store(y_ptr + at, a * cos - b * sin)
    tl.store(y_ptr + at + 1, b * cos + a * sin)


@triton.jit
def grey_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    red = tl.load(x_ptr + 3 * i, mask=i < n).to(tl.float32)
    green = tl.load(x_ptr + 3 * i + 1, mask=i < n).to(tl.float32)
    blue = tl.load(x_ptr + 3 * i + 2, mask=i < n).to(tl.float32)
    grey = 0.25 * red + 0.625 * green + 0.125 * blue
    tl.store(y_ptr + i, grey.to(tl.uint8), mask=i < n)


@triton.jit
def nearest_kernel(x_ptr, c_ptr, y_ptr, N, K, D: tl.constexpr, ROWS: tl.constexpr):
    n, k = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, 64)
    far = tl.zeros((ROWS, 64), tl.float32)
    for d in range(D):
        x = tl.load(x_ptr + n * D + d, mask=n < N)
        c = tl.load(c_ptr + k * D + d, mask=k < K)
        far += (x[:, None] - c[None, :]) * (x[:, None] - c[None, :])
    far = tl.where(k[None, :] < K, far, float("inf"))
    tl.store(y_ptr + n, tl.argmin(far, 1), mask=n < N)


@triton.jit
def circle_kernel(y_ptr, seed, TURNS, BLOCK: tl.constexpr):
    inside = tl.zeros((BLOCK,), tl.int32)
    for turn in range(TURNS):
        i = (tl.program_id(0) * TURNS + turn) * BLOCK + tl.arange(0, BLOCK)
        x, y = tl.rand(seed, 2 * i), tl.rand(seed, 2 * i + 1)
        inside += (x * x + y * y < 1.0).to(tl.int32)
    tl.store(y_ptr + tl.program_id(0), tl.sum(inside))


@triton.jit
def transpose_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row[:, None] * N + col[None, :])
    tl.store(y_ptr + col[:, None] * N + row[None, :], tl.trans(x))


@triton.jit
def pool_kernel(x_ptr, y_ptr, H, W, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    high, wide = H // 2, W // 2
    at = x_ptr + tl.program_id(0) * H * W + 2 * (i // wide) * W + 2 * (i % wide)
    ok = i < high * wide
    upper = tl.maximum(tl.load(at, mask=ok), tl.load(at + 1, mask=ok))
    lower = tl.maximum(tl.load(at + W, mask=ok), tl.load(at + W + 1, mask=ok))
    out = y_ptr + tl.program_id(0) * high * wide + i
    tl.store(out, tl.maximum(upper, lower), mask=ok)


@triton.jit
def sort_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n, other=0)
    tl.store(y_ptr + tl.program_id(0) * n + i, tl.cumsum(x, 0), mask=i < n)


@triton.jit
def count_kernel(x_ptr, counts_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts_ptr + tl.load(x_ptr + i), 1)


@triton.jit
def codebook_kernel(x_ptr, book_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    book = tl.load(book_ptr + tl.arange(0, 16))
    code = tl.load(x_ptr + i).to(tl.int32)
    tl.store(y_ptr + i, tl.gather(book, code, 0))


def row_cases() -> Iterator[Case]:
    """As cases has them: what rows and codes become."""
    rng = np.random.default_rng(0)
    for width, dtype in (16, "i4"), (256, "i4"), (256, "f4"):
        x = (rng.standard_normal((65536 // width, width)) * 1000).astype(dtype)
        y = np.empty_like(x)
        yield (
            f"sort of rows of {width} {dtype}, a row a program",
            lambda x=x, y=y: sort_kernel[(len(x),)](x, y, x.shape[1]),
            lambda x=x: torch.from_numpy(np.sort(x, 1)),
            torch.from_numpy(y),
        )
    a = rng.integers(-1000, 1000, (512, 1000))
    b = np.empty_like(a)
    yield (
        "cumsum of i64 512x1000",
        lambda: cumsum_kernel[(512,)](a, b, 1000, 1024),
        lambda: torch.from_numpy(np.cumsum(a, 1)),
        torch.from_numpy(b),
    )
    n = 1 << 17
    codes, counts = rng.integers(0, 256, n), np.zeros(256, "i4")

    def count() -> None:
        counts[:] = 0
        count_kernel[(n // 1024,)](codes, counts, 1024)

    yield (
        "counts of 2^17 i64 in 256 by atomics",
        count,
        lambda: torch.from_numpy(np.bincount(codes, minlength=256)),
        torch.from_numpy(counts),
    )
    book, nibbles = rng.random(16, "f"), rng.integers(0, 16, n).astype("u1")
    values = np.empty(n, "f")
    yield (
        "codebook of 16 f32, 2^17",
        lambda: codebook_kernel[(n // 1024,)](nibbles, book, values, 1024),
        lambda: torch.from_numpy(np.take(book, nibbles)),
        torch.from_numpy(values),
    )


def cases() -> Iterator[Case]:
    """Name, ours, the best of NumPy or torch, our result; None: it is random."""
    torch.manual_seed(0)
    x, y = torch.randn(700, 900), torch.empty(700, 900)
    wide = x[None, None]
    yield (
        "blur 3 x 3, edges repeated, f32 700x900",
        lambda: blur_kernel[(44, 8)](x, y, 700, 900, 16, 128),
        lambda: F.avg_pool2d(F.pad(wide, (1, 1, 1, 1), mode="replicate"), 3, 1)[0, 0],
        y,
    )
    q, out = torch.randn(512, 12, 64), torch.empty(512, 12, 64)
    cos, sin = torch.randn(512, 1, 32), torch.randn(512, 1, 32)

    def rotated() -> torch.Tensor:
        a, b = q[..., ::2], q[..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)

    yield (
        "rotary embedding of pairs, f32 512x12x64",
        lambda: rotary_kernel[(512, 12)](q, cos, sin, out, 12, 64),
        rotated,
        out,
    )
    n = 1 << 18
    pixels = torch.randint(0, 256, (n, 3), dtype=torch.uint8)
    grey, weights = (
        torch.empty(n, dtype=torch.uint8),
        torch.tensor([0.25, 0.625, 0.125]),
    )
    yield (
        "grey of 2^18 pixels of three bytes",
        lambda: grey_kernel[(n // 1024,)](pixels, grey, n, 1024),
        lambda: (pixels.float() @ weights).to(torch.uint8),
        grey,
    )
    points, centres = torch.randn(10000, 16), torch.randn(50, 16)
    nearest = torch.empty(10000, dtype=torch.int32)
    yield (
        "nearest of 50 points, f32 10000x16",
        lambda: nearest_kernel[(157,)](points, centres, nearest, 10000, 50, 16, 64),
        lambda: torch.cdist(points, centres).argmin(1).int(),
        nearest,
    )
    rng, counts = np.random.default_rng(0), torch.empty(32, dtype=torch.int32)
    yield (
        "2^18 random points in a circle",
        lambda: circle_kernel[(32,)](counts, 7, 16, 512),
        lambda: (rng.random(n, "f") ** 2 + rng.random(n, "f") ** 2 < 1).sum(),
        None,
    )
    square, turned = torch.randn(1024, 1024), torch.empty(1024, 1024)
    yield (
        "transposed copy, f32 1024^2",
        lambda: transpose_kernel[(16, 16)](square, turned, 1024, 64),
        lambda: square.T.contiguous(),
        turned,
    )
    image, pooled = torch.randn(64, 56, 56), torch.empty(64, 28, 28)
    yield (
        "largest of 2 x 2, f32 64x56^2",
        lambda: pool_kernel[(64, 1)](image, pooled, 56, 56, 1024),
        lambda: F.max_pool2d(image, 2),
        pooled,
    )


def milliseconds(fns: tuple[Callable[[], object], ...]) -> list[float]:
    times: list[list[float]] = [[] for _ in fns]
    for _ in range(40):
        for fn, all_of_it in zip(fns, times, strict=True):
            start = time.process_time()
            fn()
            all_of_it.append((time.process_time() - start) * 1e3)
    return [statistics.median(t) for t in times]


def main() -> None:
    torch.set_num_threads(1)
    for name, ours, theirs, result in chain(cases(), row_cases()):
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        ours()
        want = theirs()
        if result is not None:
            close = torch.isclose(result.double(), want.double(), 1e-4, 1e-4)
            assert close.double().mean() > 0.999, name
        t, other = milliseconds((ours, theirs))
        print(f"{name:44}{t:9.3f} ms {other:9.3f} ms {other / t:7.2f}", flush=True)


if __name__ == "__main__":
    main()
