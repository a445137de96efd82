"""TYPE: Python's sum of a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, sum(tl.arange(0, 16)))


def run():
    kernel.lower("*i32")


# ----
# type_sum_block.py:9:17: CompileError[TYPE]: the argument of sum() must be a tuple or a range, not a block i32[16]
#     tl.store(x, sum(tl.arange(0, 16)))
#                 ^~~~~~~~~~~~~~~~~~~~~
#   help: tl.sum(x) reduces a block
