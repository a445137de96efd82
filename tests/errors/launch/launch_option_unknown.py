"""A launch: a keyword like nothing there is."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, fast=True)


# ----
# KeyError: "kernel() has no parameter or option 'fast'; its parameters are x, BLOCK"
