"""A few kernels on this machine, checked and timed beside NumPy: ``make demo``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tegula as triton
import tegula.language as tl
from tegula.errors import CompileError
from tegula.testing import assert_close, do_bench


@triton.jit
def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(z_ptr + i, x + y, mask=i < n)


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        a_mask = (m[:, None] < M) & (k[None, :] + k0 < K)
        b_mask = (k[:, None] + k0 < K) & (n[None, :] < N)
        a = tl.load(a_ptr + m[:, None] * K + (k[None, :] + k0), mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (k[:, None] + k0) * N + n[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=mask)


@triton.jit
def wrong(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    y = tl.zeros((BLOCK // 2,), dtype=tl.float32)
    tl.store(x_ptr + tl.arange(0, BLOCK), x + y)


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def compare(
    title: str, ours: Callable[[], Any], theirs: Callable[[], Any], atol: float
) -> None:
    """Run both, demand the same result, print both times."""
    assert_close(ours(), theirs(), atol=atol)

    def ms(fn: Callable[[], Any]) -> float:
        return float(do_bench(fn, rep=200, return_mode="median", device="cpu"))

    mine, numpys = ms(ours), ms(theirs)
    print(f"{title:34} {mine:9.3f} ms   NumPy {numpys:9.3f} ms   {numpys / mine:5.1f}x")


def main() -> int:
    rng = np.random.default_rng(0)

    n = 1 << 22
    x, y = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
    z = np.empty_like(x)

    def run_add() -> Any:
        add[(triton.cdiv(n, 8192),)](x, y, z, n, BLOCK=8192)
        return z

    compare(f"add, {n} f32", run_add, lambda: x + y, 0)

    s = rng.standard_normal((1024, 1000), dtype=np.float32)
    t = np.empty_like(s)

    def run_softmax() -> Any:
        softmax[(1024,)](s, t, 1000, BLOCK=1024)
        return t

    compare("softmax, 1024 x 1000 f32", run_softmax, lambda: numpy_softmax(s), 1e-6)

    size = 500
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    c = np.empty_like(a)

    def run_matmul() -> Any:
        grid = (triton.cdiv(size, 64), triton.cdiv(size, 64))
        matmul[grid](a, b, c, size, size, size, BM=64, BN=64, BK=32)
        return c

    compare(f"matmul, {size} x {size} x {size} f32", run_matmul, lambda: a @ b, 1e-3)

    print("\nThe tile IR of add:\n")
    print(add[(1,)](x, y, z, n, BLOCK=8192).asm["tir"])
    print("What a wrong kernel is told:\n")
    try:
        wrong[(1,)](x, BLOCK=64)
    except CompileError as err:
        print(err)
        return 0
    print("nothing, and that is a bug", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
