"""A launch: a version that is no number."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, ptx_version="8.4")


# ----
# TypeError: option ptx_version must be an integer, not '8.4'
