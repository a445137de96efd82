"""TYPE: in, asked of a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    if i in (1, 2):
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_in_block.py:10:8: CompileError[TYPE]: 'in' asks of one value, and on the left is a block i32[64]
#     if i in (1, 2):
#        ^~~~~~~~~~~
#   help: compare with each: (x == 1) | (x == 2)
