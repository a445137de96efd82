"""TYPE: a loop up to a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for i in range(tl.arange(0, 16)):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_range_block.py:9:14: CompileError[TYPE]: the end of a range must be an integer scalar, not a block i32[16]
#     for i in range(tl.arange(0, 16)):
#              ^~~~~~~~~~~~~~~~~~~~~~~
#   help: a block is one value: arithmetic on it needs no loop
