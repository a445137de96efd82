"""TypeError: a parameter given at the launch and by the only Config."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.autotune(configs=[tegula.Config({"BLOCK": 16})], key=["n"])
@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x, n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, BLOCK=16)


# ----
# TypeError: BLOCK: given at the launch and by @autotune
