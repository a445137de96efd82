"""VALUE: three names for the two values of a function."""

import tegula
import tegula.language as tl


@tegula.jit
def two():
    return 1.0, 2.0


@tegula.jit
def kernel(x):
    a, b, c = two()
    tl.store(x, a + b + c)


def run():
    kernel.lower("*fp32")


# ----
# value_unpack_many.py:14:5: CompileError[VALUE]: 3 names on the left, 2 values on the right
#     a, b, c = two()
#     ^~~~~~~
