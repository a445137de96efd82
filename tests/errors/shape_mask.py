"""SHAPE: a mask that does not fit its pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 64)
    m = tl.arange(0, 32) < n
    tl.store(x + i, tl.load(x + i, mask=m))


def run():
    kernel.lower("*fp32", "i32")


# ----
# shape_mask.py:11:21: CompileError[SHAPE]: cannot combine shapes [64] and [32]
#     tl.store(x + i, tl.load(x + i, mask=m))
#                     ^~~~~~~~~~~~~~~~~~~~~~
#   help: extents must be equal or 1; x[:, None] and y[None, :] make an outer product
