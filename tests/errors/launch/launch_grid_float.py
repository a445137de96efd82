"""A launch: a quotient in the grid."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(64 / 16,)](np.zeros(16, np.float32), 3)


# ----
# TypeError: the sides of a grid must be integers, not 4.0: cdiv(n, BLOCK) divides and rounds up
