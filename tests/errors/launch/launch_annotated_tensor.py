"""A launch: a tensor for an annotated integer."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n: tl.int32):
    tl.store(x, n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), np.zeros(16, np.float32))


# ----
# TypeError: argument 'n' must be int32, not a tensor (float32)
