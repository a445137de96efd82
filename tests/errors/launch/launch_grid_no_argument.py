"""A launch: a grid function without a parameter."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[lambda: (1,)](np.zeros(16, np.float32), 3)


# ----
# TypeError: run.<locals>.<lambda>() takes 0 positional arguments but 1 was given
# the grid of kernel() is a function of a dict, lambda meta: (.., ), of its parameters: x, n, BLOCK
