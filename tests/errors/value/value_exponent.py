"""VALUE: a power of a constant beyond reason."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 7**1000000)


def run():
    kernel.lower("*fp32")


# ----
# value_exponent.py:9:17: CompileError[VALUE]: the exponent 1000000 is too large
#     tl.store(x, 7**1000000)
#                 ^~~~~~~~~~
