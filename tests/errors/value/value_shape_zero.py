"""VALUE: a side of nothing."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((0, 16), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_shape_zero.py:9:9: CompileError[VALUE]: Shape element 0 must be 1 or more, not 0
#     a = tl.zeros((0, 16), tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
