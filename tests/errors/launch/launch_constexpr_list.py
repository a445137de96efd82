"""A launch: a list for a tl.constexpr."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, BLOCK=[16])


# ----
# TypeError: a constexpr argument of kernel() must be hashable, not of type list: a tuple is; what is data is no constexpr
