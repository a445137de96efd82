"""VALUE: a difference below an unsigned type."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) * -2)


def run():
    kernel.lower("*u8")


# ----
# value_literal_negative_small.py:9:30: CompileError[VALUE]: the number -2 is outside the range of u8
#     tl.store(x, tl.load(x) * -2)
#                              ^~
#   help: convert the other side first: x.to(tl.int32)
