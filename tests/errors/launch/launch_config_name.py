"""A configuration sets what is no parameter."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def fill(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    configs = [tegula.Config({"BLOCK": 32}), tegula.Config({"BLOCK_SIZE": 64})]
    tegula.autotune(configs, key=["n"])(fill)[(1,)](np.zeros(64, np.float32), 64)


# ----
# ValueError: @autotune's Config: 'BLOCK_SIZE' is no parameter of fill(x, n, BLOCK); did you mean 'BLOCK'?
