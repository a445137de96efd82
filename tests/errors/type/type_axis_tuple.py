"""TYPE: two axes at once, as NumPy has them."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.sum(tl.zeros((4, 8), tl.float32), axis=(0, 1)))


def run():
    kernel.lower("*fp32")


# ----
# type_axis_tuple.py:9:54: CompileError[TYPE]: axis must be an int, not (0, 1)
#     tl.store(x, tl.sum(tl.zeros((4, 8), tl.float32), axis=(0, 1)))
#                                                      ^~~~~~~~~~~
#   help: one axis at a time: tl.sum(tl.sum(x, 1), 0); all of them where axis is left out
