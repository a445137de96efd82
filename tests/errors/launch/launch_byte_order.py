"""A launch: an array whose bytes are in the other order."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0)


def run():
    kernel[(1,)](np.zeros(16, ">f4"))


# ----
# TypeError: argument 'x' is an ndarray that kernels cannot read: element type >f4 is not supported: its bytes are in the other order, and x.astype(x.dtype.newbyteorder('=')) turns them
