"""A launch: a text for a run-time parameter."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), "3")


# ----
# TypeError: argument 'n': a str cannot be passed to a kernel; parameters take tensors, int, float, bool, None and tuples of them. For a compile-time value annotate it tl.constexpr
