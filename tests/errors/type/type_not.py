"""TYPE: not of an integer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, not n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_not.py:9:17: CompileError[TYPE]: 'not' works on int1, not on i32
#     tl.store(x, not n)
#                 ^~~~~
#   help: compare with zero: x == 0
