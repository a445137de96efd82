"""TYPE: a call into NumPy."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, np.sqrt(tl.load(x)))


def run():
    kernel.lower("*fp32")


# ----
# attribute_numpy.py:11:17: CompileError[TYPE]: a kernel cannot call np.sqrt: it is no function of the kernel language
#     tl.store(x, np.sqrt(tl.load(x)))
#                 ^~~~~~~~~~~~~~~~~~~
#   help: the kernel language has tl.sqrt
