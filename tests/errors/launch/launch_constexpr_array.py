"""A launch: an array for a constexpr."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, BLOCK=np.float32(16))


# ----
# launch_constexpr_array.py:11:22: CompileError[TYPE]: arange's end must be an int, not the constant float 16.0
#     i = tl.arange(0, BLOCK)
#                      ^~~~~
#   help: '//' divides integers, int(..) converts a constant
