"""A launch: an architecture that is a number."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), arch=80)


# ----
# TypeError: option arch must be a str, not 80
