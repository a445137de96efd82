"""VALUE: a block as the mask of a scalar pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 64)
    tl.store(x, tl.load(x, mask=i < n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_mask_block.py:10:28: CompileError[VALUE]: the mask of load cannot be a block when the pointer is a scalar
#     tl.store(x, tl.load(x, mask=i < n))
#                            ^~~~~~~~~~
#   help: add a block of offsets to the pointer: p + tl.arange(..)
