"""A launch: an array of Python objects."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.array([None]), 3)


# ----
# TypeError: argument 'x' is an ndarray that kernels cannot read: element type object is not supported: kernels compute with numbers, and x.astype(numpy.float32) makes them of what can be read as such
