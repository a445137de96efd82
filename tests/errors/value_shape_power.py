"""VALUE: a side that is no power of two."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((48, 16), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_shape_power.py:9:9: CompileError[VALUE]: Shape element 0 must be a power of 2, not 48
#     a = tl.zeros((48, 16), tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: take 64 and mask what is beyond 48
