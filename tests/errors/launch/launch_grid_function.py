"""A launch: a function that returns nothing."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[lambda meta: None](np.zeros(16, np.float32), 3)


# ----
# TypeError: a grid is an integer, a tuple of 1 to 3 of them, or a function of the kernel's arguments that returns one, not None
