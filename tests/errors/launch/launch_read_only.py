"""A launch: the kernel writes what is read-only."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.frombuffer(bytes(64), np.float32), 3)


# ----
# ValueError: argument 'x' is read-only, and kernel() writes it
