"""VALUE: a histogram of no bins."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.sum(tl.histogram(tl.arange(0, 64), 0)))


def run():
    kernel.lower("*fp32")


# ----
# value_histogram_bins.py:9:24: CompileError[VALUE]: num_bins must be 1 to 1048576, not 0
#     tl.store(x, tl.sum(tl.histogram(tl.arange(0, 64), 0)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
