"""A launch: three blocks in a cluster."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, num_ctas=3)


# ----
# ValueError: option num_ctas must be a power of two from 1 to 16, not 3
