"""SHAPE: an expression of several lines."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    b = tl.arange(0, 32)
    c = a + b
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# multi_line.py:11:9: CompileError[SHAPE]: cannot combine shapes [16, 16] and [32]
#     c = a + b
#         ^~~~~
#   help: extents must be equal or 1, counted from the last dimension
