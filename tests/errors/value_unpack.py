"""VALUE: two names, three values."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a, b = 1, 2, 3
    tl.store(x, a)


def run():
    kernel.lower("*fp32")


# ----
# value_unpack.py:9:5: CompileError[VALUE]: 2 names on the left, 3 values on the right
#     a, b = 1, 2, 3
#     ^~~~
#   help: *b takes all that is left
