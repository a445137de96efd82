"""VALUE: a histogram of ten bins."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.sum(tl.histogram(tl.arange(0, 64), 10)))


def run():
    kernel.lower("*fp32")


# ----
# value_histogram_bins.py:9:24: CompileError[VALUE]: num_bins must be a power of 2, not 10
#     tl.store(x, tl.sum(tl.histogram(tl.arange(0, 64), 10)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
