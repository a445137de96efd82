"""TYPE: NumPy's function in a kernel."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, np.sum(tl.load(x + tl.arange(0, 4))))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_np_sum.py:11:17: CompileError[TYPE]: a kernel cannot call np.sum: it is no function of the kernel language
#     tl.store(x, np.sum(tl.load(x + tl.arange(0, 4))))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: the kernel language has tl.sum
