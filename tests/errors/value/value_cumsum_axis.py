"""VALUE: a running sum along an axis that is not there."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.cumsum(i, axis=-2))


def run():
    kernel.lower("*fp32")


# ----
# value_cumsum_axis.py:10:34: CompileError[VALUE]: cumsum: axis -2 is outside the shape [16]
#     tl.store(x + i, tl.cumsum(i, axis=-2))
#                                  ^~~~~~~
#   help: a block of one dimension has the axis 0 alone
