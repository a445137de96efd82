"""KeyError: a parameter in other capitals."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x, n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, block=16)


# ----
# KeyError: "kernel() has no parameter or option 'block'; did you mean 'BLOCK'?"
