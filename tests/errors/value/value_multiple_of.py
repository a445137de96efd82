"""VALUE: as many promises as dimensions."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.multiple_of(n + tl.arange(0, 16), (16, 16))
    tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_multiple_of.py:9:9: CompileError[VALUE]: multiple_of: 2 values for the 1 dimension of i32[16]
#     i = tl.multiple_of(n + tl.arange(0, 16), (16, 16))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
