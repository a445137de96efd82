"""VALUE: max of two scalars."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.max(tl.load(x), tl.load(x + 1)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_max_two.py:9:24: CompileError[VALUE]: max needs a block, not 'tl.load(x)' (an f32 scalar)
#     tl.store(x, tl.max(tl.load(x), tl.load(x + 1)))
#                        ^~~~~~~~~~
#   help: tl.maximum(a, b) compares two values; tl.max(block, axis) reduces
