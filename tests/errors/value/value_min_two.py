"""VALUE: min with a number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.min(tl.load(y), 3))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_min_two.py:9:24: CompileError[VALUE]: min needs a block, not 'tl.load(y)' (an i32 scalar)
#     tl.store(x, tl.min(tl.load(y), 3))
#                        ^~~~~~~~~~
#   help: tl.minimum(a, b) compares two values; tl.min(block, axis) reduces
