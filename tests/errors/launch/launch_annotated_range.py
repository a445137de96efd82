"""A launch: an integer beyond the annotated type."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n: tl.int32):
    tl.store(x, n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 1 << 40)


# ----
# OverflowError: argument 'n': 1099511627776 does not fit int32
