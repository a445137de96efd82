"""A launch: a negative side of the grid."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(-1,)](np.zeros(16, np.float32), 3)


# ----
# ValueError: the sides of a grid must be from 0 to 2**31 - 1, not -1
