"""VALUE: a sum of a scalar."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.sum(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_sum_scalar.py:9:24: CompileError[VALUE]: sum needs a block, not 'n' (an i32 scalar)
#     tl.store(x, tl.sum(n))
#                        ^
#   help: a scalar is one value already; tl.load of a block of pointers gives a block
