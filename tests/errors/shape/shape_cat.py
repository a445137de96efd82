"""SHAPE: a cat of two shapes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.cat(tl.zeros((4, 16), tl.int32), tl.zeros((4, 32), tl.int32), dim=0)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# shape_cat.py:9:9: CompileError[SHAPE]: cat needs two blocks of one shape, but along dim: 'tl.zeros((4, 16), tl.int32)' (i32[4, 16]) and 'tl.zeros((4, 32), tl.int32)' (i32[4, 32])
#     a = tl.cat(tl.zeros((4, 16), tl.int32), tl.zeros((4, 32), tl.int32), dim=0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
