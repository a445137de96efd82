"""A launch: an integer beyond 64 bits."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 1 << 64)


# ----
# OverflowError: argument 'n': 18446744073709551616 does not fit 64 bits
