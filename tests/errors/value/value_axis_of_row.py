"""VALUE: the second axis of a row."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.max(v, axis=1))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_axis_of_row.py:10:27: CompileError[VALUE]: max: axis 1 is outside the shape [64]
#     tl.store(x, tl.max(v, axis=1))
#                           ^~~~~~
#   help: a block of one dimension has the axis 0 alone
