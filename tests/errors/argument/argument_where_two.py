"""ARGUMENT: where without the other side."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.where(tl.load(y) > 2, tl.load(x)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_where_two.py:9:17: CompileError[ARGUMENT]: where(): the argument 'y' is missing
#     tl.store(x, tl.where(tl.load(y) > 2, tl.load(x)))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it is where(condition, x, y)
