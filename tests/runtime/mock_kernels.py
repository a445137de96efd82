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
