"""A launch: a dict of options as an argument."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), {"n": 3})


# ----
# TypeError: argument 'n': a dict cannot be passed to a kernel; parameters take tensors, int, float, bool, None and tuples of them. Make each of its values an argument, or a NamedTuple of them
