"""Kernels of test_cuda_mock.py: in a file, because their source must be found."""

import tegula
import tegula.language as tl


@tegula.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@tegula.jit
def nothing(n):
    pass


@tegula.jit
def total(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y, tl.sum(tl.load(x + i)))


@tegula.jit
def bare():
    pass


@tegula.jit
def product(a, b, c, M, K, B: tl.constexpr):
    m, k = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k0 in range(0, K, B):
        x = tl.load(
            a + m[:, None] * K + (k0 + k)[None, :],
            mask=(m < M)[:, None] & (k0 + k < K)[None, :],
            other=0,
        )
        y = tl.load(
            b + (k0 + k)[:, None] * B + k[None, :],
            mask=(k0 + k < K)[:, None],
            other=0,
        )
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * B + k[None, :], acc, mask=(m < M)[:, None])


@tegula.jit
def by_descriptors(a, b, c, K):
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([tl.program_id(0) * 64, k]), b.load([k, 0]), acc)
    c.store([tl.program_id(0) * 64, 0], acc)
