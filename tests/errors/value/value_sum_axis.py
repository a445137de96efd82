"""VALUE: a sum along an axis that is not there."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(a, axis=2))


def run():
    kernel.lower("*fp32")


# ----
# value_sum_axis.py:10:27: CompileError[VALUE]: sum: axis 2 is outside the shape [16, 16]
#     tl.store(x, tl.sum(a, axis=2))
#                           ^~~~~~
#   help: its axes are 0 to 1, from the left
