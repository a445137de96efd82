"""VALUE: a scan along an axis that is not there."""

import tegula
import tegula.language as tl


@tegula.jit
def add(a, b):
    return a + b


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.associative_scan(i, 1, add))


def run():
    kernel.lower("*fp32")


# ----
# value_scan_axis.py:15:44: CompileError[VALUE]: associative_scan: axis 1 is outside the shape [16]
#     tl.store(x + i, tl.associative_scan(i, 1, add))
#                                            ^
#   help: a block of one dimension has the axis 0 alone
