"""TypeError: a kernel in a class."""

import numpy as np

import tegula
import tegula.language as tl


class Ops:
    @tegula.jit
    def kernel(self, x, n):
        tl.store(x, n)


def run():
    Ops.kernel[(1,)](np.zeros(4, np.float32), 3)


# ----
# TypeError: kernel() misses 1 argument: 'n'. It takes 'self', for it is defined in a class: write @staticmethod above @jit, and leave self out
