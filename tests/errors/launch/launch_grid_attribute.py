"""A launch: a grid function that takes the dict for an object."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[lambda meta: (meta.n,)](np.zeros(16, np.float32), 3)


# ----
# AttributeError: 'dict' object has no attribute 'n'
# the grid of kernel() is a function of a dict, lambda meta: (.., ), of its parameters: x, n, BLOCK
