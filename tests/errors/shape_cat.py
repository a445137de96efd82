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
# shape_cat.py:9:9: CompileError[SHAPE]: cannot combine shapes [16] and [32]
#     a = tl.cat(tl.arange(0, 16), tl.arange(0, 32), can_reorder=True)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: cat takes two blocks of one shape
