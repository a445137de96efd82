"""TYPE: a mask of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.load(x + i, mask=i & 1))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_mask_int.py:10:36: CompileError[TYPE]: the mask of load must be of int1, not i32[64]
#     tl.store(x + i, tl.load(x + i, mask=i & 1))
#                                    ^~~~~~~~~~
#   help: compare: (i & 1) != 0
