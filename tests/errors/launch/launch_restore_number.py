"""A launch: an argument to put back that is a number."""

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
        restore_value=["n"],
    )(kernel)
    tuned[(1,)](np.zeros(16, np.float32), 3)


# ----
# TypeError: restore_value names 'n', which is no tensor: 3
