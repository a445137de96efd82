"""SHAPE: a mask that does not fit its pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 64)
    m = tl.arange(0, 32) < n
    tl.store(x + i, tl.load(x + i, mask=m))


def run():
    kernel.lower("*fp32", "i32")


# ----
# shape_mask.py:11:21: CompileError[SHAPE]: cannot broadcast 'x + i' (ptr<f32>[64]) with 'm' (i1[32]): their lengths are 64 and 32
#     tl.store(x + i, tl.load(x + i, mask=m))
#                     ^~~~~~~~~~~~~~~~~~~~~~
#   help: blocks of one length combine element by element; x[:, None] and y[None, :] combine each with each, to [64, 32]
