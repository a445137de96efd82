"""A launch: an argument to reset that there is not."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tuned = tegula.autotune(
        [tegula.Config({"BLOCK": 8}), tegula.Config({"BLOCK": 16})],
        key=["n"],
        reset_to_zero=["out"],
    )(kernel)
    tuned[(1,)](np.zeros(16, np.float32), 3)


# ----
# KeyError: "reset_to_zero names 'out', which is no parameter of kernel(): x, n, BLOCK"
