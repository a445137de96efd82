"""VALUE: a side of a block that is below zero, as it was written."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, -4), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_shape_negative.py:9:9: CompileError[VALUE]: Shape element 1 must be 1 or more, not -4
#     a = tl.zeros((16, -4), tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
