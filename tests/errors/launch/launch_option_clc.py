"""A launch: options of Triton 3.9 that are not there."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, clc=True)


# ----
# ValueError: option clc=True is not supported: cluster launch control is Blackwell's, for which no code is made
