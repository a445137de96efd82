"""VALUE: max of two blocks."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 4)
    tl.store(x + i, tl.max(i, tl.load(y + i)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_max_blocks.py:10:31: CompileError[VALUE]: axis must be known when the kernel is compiled, but 'tl.load(y + i)' (a block i32[4]) is known only when it runs
#     tl.store(x + i, tl.max(i, tl.load(y + i)))
#                               ^~~~~~~~~~~~~~
#   help: tl.maximum(a, b) compares two values
