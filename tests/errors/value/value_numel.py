"""VALUE: a block of too many elements."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((2048, 1024), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_numel.py:9:9: CompileError[VALUE]: a block may have at most 1048576 elements: [2048, 1024] has more
#     a = tl.zeros((2048, 1024), tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: go over it in a loop, in smaller blocks
