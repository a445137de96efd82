"""VALUE: two names for three values."""

import tegula
import tegula.language as tl


@tegula.jit
def three():
    return 1.0, 2.0, 3.0


@tegula.jit
def kernel(x):
    a, b = three()
    tl.store(x, a + b)


def run():
    kernel.lower("*fp32")


# ----
# value_unpack_many.py:14:5: CompileError[VALUE]: 2 names on the left, 3 values on the right
#     a, b = three()
#     ^~~~
#   help: *b takes all that is left
