"""VALUE: a scalar as the index of gather."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.arange(0, 16)
    tl.store(x, tl.gather(v, 3, 0))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_gather_scalar.py:10:30: CompileError[VALUE]: gather needs a block, not a scalar
#     tl.store(x, tl.gather(v, 3, 0))
#                              ^
#   help: a scalar is one value already; tl.load of a block of pointers gives a block
