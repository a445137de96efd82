"""A launch: a grid without sides."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[()](np.zeros(16, np.float32), 3)


# ----
# IndexError: a grid has 1 to 3 sides, not none
