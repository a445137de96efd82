"""VALUE: the transpose of one dimension."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.trans(tl.arange(0, 16))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_trans_rank.py:9:9: CompileError[VALUE]: trans needs two dimensions, not the shape [16]
#     a = tl.trans(tl.arange(0, 16))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: x[:, None] is a column, x[None, :] a row
