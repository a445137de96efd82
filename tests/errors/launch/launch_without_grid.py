"""A launch: a kernel called like a function."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel(np.zeros(16, np.float32), 3)


# ----
# RuntimeError: kernel is a kernel and cannot be called like a function: write kernel[grid](...), or call it from another kernel
