"""A launch: a warp of another size."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, warp_size=64)


# ----
# ValueError: option warp_size is 32, not 64
