"""A launch: an architecture that is none."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), arch="hopper")


# ----
# ValueError: arch 'hopper': expected smNN with NN one of 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121; "sm90" has all features of it, "sm_90" those that newer ones have, too
