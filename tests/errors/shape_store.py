"""SHAPE: a value larger than the block of pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.zeros((4, 64), tl.float32))


def run():
    kernel.lower("*fp32")


# ----
# shape_store.py:10:5: CompileError[SHAPE]: cannot combine shapes [4, 64] and [64]
#     tl.store(x + i, tl.zeros((4, 64), tl.float32))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: [64] stays as it is: the other one is stretched to it, never the reverse
