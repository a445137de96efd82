"""VALUE: arange that is no power of two."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 100)
    tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_arange.py:9:9: CompileError[VALUE]: arange's range must be a power of 2, not 100
#     i = tl.arange(0, 100)
#         ^~~~~~~~~~~~~~~~~
#   help: take tl.arange(0, 128) and mask what is beyond 100
