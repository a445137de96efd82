"""TYPE: a function of NumPy that makes an array."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    acc = np.zeros(64)
    tl.store(x + tl.arange(0, 64), acc)


def run():
    kernel.lower("*fp32")


# ----
# type_call_torch.py:11:11: CompileError[TYPE]: a kernel cannot call np.zeros: it is no function of the kernel language
#     acc = np.zeros(64)
#           ^~~~~~~~~~~~
#   help: the kernel language has tl.zeros
