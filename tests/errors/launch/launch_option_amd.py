"""A launch: an option of AMD's GPUs."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32), BLOCK=16, waves_per_eu=2)


# ----
# KeyError: "kernel() has no parameter or option 'waves_per_eu', which is an option of AMD's GPUs"
