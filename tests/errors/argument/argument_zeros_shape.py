"""ARGUMENT: the sides of a shape as arguments of their own."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(x, tl.sum(tl.zeros(16, 32, tl.float32)))


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# argument_zeros_shape.py:9:24: CompileError[ARGUMENT]: zeros(): it takes at most 2 arguments, but 3 were given
#     tl.store(x, tl.sum(tl.zeros(16, 32, tl.float32)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it is zeros(shape, dtype); a shape is one tuple, (M, N)
