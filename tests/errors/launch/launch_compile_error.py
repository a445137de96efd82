"""A launch: the kernel itself is wrong."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)](np.zeros(16, np.float32), 3, BLOCK=0)


# ----
# launch_compile_error.py:11:9: CompileError[VALUE]: arange's end argument must be greater than the start argument
#     i = tl.arange(0, BLOCK)
#         ^~~~~~~~~~~~~~~~~~~
#   help: BLOCK is 0
