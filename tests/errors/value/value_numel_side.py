"""VALUE: a side of a block that 32 bits do not hold, as it was written."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((1 << 40, 2), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_numel_side.py:9:9: CompileError[VALUE]: a block may have at most 1048576 elements: [1099511627776, 2] has more
#     a = tl.zeros((1 << 40, 2), tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: go over it in a loop, in smaller blocks
