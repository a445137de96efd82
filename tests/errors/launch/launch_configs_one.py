"""A launch: one Config without a list."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tegula.autotune(tegula.Config({"BLOCK": 16}), key=["n"])(kernel)


# ----
# TypeError: configs is a list: autotune([Config(..)], key=[..])
