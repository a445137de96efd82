"""TYPE: and of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    if n and n > 3:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_and_int.py:9:8: CompileError[TYPE]: 'and' works on int1, not on i32 and i1
#     if n and n > 3:
#        ^~~~~~~~~~~
#   help: compare first: (x != 0) & (y != 0)
