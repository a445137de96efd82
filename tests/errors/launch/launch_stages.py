"""A launch: a negative number of stages."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, num_stages=-1)


# ----
# ValueError: option num_stages must be an integer from 0 to 64, not -1
