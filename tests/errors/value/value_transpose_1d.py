"""VALUE: x.T of one dimension."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.arange(0, 16)
    tl.store(x + v, v.T)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_transpose_1d.py:10:21: CompileError[VALUE]: x.T needs two dimensions, not the shape [16]
#     tl.store(x + v, v.T)
#                     ^~~
#   help: x[:, None] is a column, x[None, :] a row
