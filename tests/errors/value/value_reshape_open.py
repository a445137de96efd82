"""VALUE: reshape with a side left open."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.sum(tl.reshape(v, (-1, 2))))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_reshape_open.py:10:24: CompileError[VALUE]: Shape element 0 must be 1 or more, not -1
#     tl.store(x, tl.sum(tl.reshape(v, (-1, 2))))
#                        ^~~~~~~~~~~~~~~~~~~~~~
#   help: no side is found out: here -1 is 32
