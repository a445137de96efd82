"""VALUE: runs of zero values."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.max_contiguous(n + tl.arange(0, 16), 0)
    tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_max_contiguous.py:9:9: CompileError[VALUE]: max_contiguous: values are positive, not 0
#     i = tl.max_contiguous(n + tl.arange(0, 16), 0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
