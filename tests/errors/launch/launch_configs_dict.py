"""A launch: dicts for configs."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tegula.autotune([{"BLOCK": 16}], key=["n"])(kernel)


# ----
# TypeError: configs holds Config(kwargs, num_warps=..), not {'BLOCK': 16}
