"""VALUE: a cat along a dimension that is not there."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 16)
    tl.store(x, tl.sum(tl.cat(a, a, dim=1)))


def run():
    kernel.lower("*fp32")


# ----
# value_cat_dim.py:10:24: CompileError[VALUE]: dim 1 is outside the shape [16]
#     tl.store(x, tl.sum(tl.cat(a, a, dim=1)))
#                        ^~~~~~~~~~~~~~~~~~~
