"""SHAPE: a cat of two shapes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.cat(tl.arange(0, 16), tl.arange(0, 32), can_reorder=True)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# shape_cat.py:9:9: CompileError[SHAPE]: cat needs two blocks of one shape: 'tl.arange(0, 16)' (i32[16]) and 'tl.arange(0, 32)' (i32[32])
#     a = tl.cat(tl.arange(0, 16), tl.arange(0, 32), can_reorder=True)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
