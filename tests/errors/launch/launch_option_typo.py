"""A launch: an option that is written wrongly."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, num_wraps=4)


# ----
# KeyError: "kernel() has no parameter or option 'num_wraps'; did you mean 'num_warps'?"
