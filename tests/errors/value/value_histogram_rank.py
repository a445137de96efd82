"""VALUE: a histogram of two dimensions."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    h = tl.histogram(tl.zeros((8, 8), tl.int32), 16)
    tl.store(x, tl.sum(h))


def run():
    kernel.lower("*fp32")


# ----
# value_histogram_rank.py:9:9: CompileError[VALUE]: histogram takes one dimension, not the shape [8, 8]
#     h = tl.histogram(tl.zeros((8, 8), tl.int32), 16)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
