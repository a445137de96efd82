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
# ValueError: arch 'hopper': expected sm75 to sm121, as "sm90", which has all features of it; "sm_90" has those that newer ones have, too
