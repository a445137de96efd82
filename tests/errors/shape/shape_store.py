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
# shape_store.py:10:5: CompileError[SHAPE]: the first has to stretch to the second: 'tl.zeros((4, 64), tl.float32)' (f32[4, 64]) and 'x + i' (ptr<f32>[64])
#     tl.store(x + i, tl.zeros((4, 64), tl.float32))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: the second keeps its shape [64]; [:, None] and [None, :] add dimensions to it
