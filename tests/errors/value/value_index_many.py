"""VALUE: more indices than dimensions."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 16)
    tl.store(x, tl.sum(a[:, 0]))


def run():
    kernel.lower("*fp32")


# ----
# value_index_many.py:10:24: CompileError[VALUE]: too many indices for a block of 1 dimension
#     tl.store(x, tl.sum(a[:, 0]))
#                        ^~~~~~~
#   help: the block has shape [16]
