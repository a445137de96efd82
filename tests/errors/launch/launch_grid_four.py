"""A launch: a grid of four sides."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1, 1, 1, 2)](np.zeros(16, np.float32), 3)


# ----
# ValueError: a grid has 1 to 3 sides, not 4
