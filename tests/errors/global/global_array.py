"""GLOBAL: an array of NumPy."""

import numpy as np

import tegula
import tegula.language as tl

W = np.ones(4)


@tegula.jit
def kernel(x):
    tl.store(x, W[0])


def run():
    kernel.lower("*fp32")


# ----
# global_array.py:13:17: CompileError[GLOBAL]: global variable 'W' cannot be used in a kernel: it is array([1., 1., 1., 1.]), not a tl.constexpr
#     tl.store(x, W[0])
#                 ^
#   help: an array is passed as an argument
