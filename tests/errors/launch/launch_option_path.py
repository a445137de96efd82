"""A launch: a file that is not there."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, ir_override="/nowhere/kernel.tir")


# ----
# FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/kernel.tir'
