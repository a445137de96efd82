"""VALUE: a literal outside the other operand's type."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) + 1000)


def run():
    kernel.lower("*i8")


# ----
# value_literal_range.py:9:30: CompileError[VALUE]: the number 1000 is outside the range of i8
#     tl.store(x, tl.load(x) + 1000)
#                              ^~~~
#   help: convert the other side first: x.to(tl.int32)
