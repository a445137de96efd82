"""VALUE: a negative literal beside an unsigned block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) + -1)


def run():
    kernel.lower("*u32")


# ----
# value_literal_negative.py:9:30: CompileError[VALUE]: the number -1 is outside the range of u32
#     tl.store(x, tl.load(x) + -1)
#                              ^~
#   help: convert the other side first: x.to(tl.int32)
