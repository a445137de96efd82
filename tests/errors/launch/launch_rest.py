"""A kernel with *args, and more arguments than it has names for."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, *rest):
    tl.store(x, 1.0)


def run():
    kernel[(1,)](np.zeros(4, np.float32), 1, 2)


# ----
# TypeError: kernel() takes 1 positional argument but 3 were given: each parameter of a kernel has a name; a tuple holds a varying number, and helper functions may have *args
