"""VALUE: three names, two values."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a, b, c = 1, 2
    tl.store(x, a)


def run():
    kernel.lower("*fp32")


# ----
# value_unpack.py:9:5: CompileError[VALUE]: 3 names on the left, 2 values on the right
#     a, b, c = 1, 2
#     ^~~~~~~
