"""ARGUMENT: Python's max of one value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, max(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_max.py:9:17: CompileError[ARGUMENT]: max(): it takes two or more values
#     tl.store(x, max(n))
#                 ^~~~~~
#   help: tl.max(x) reduces a block
