"""VALUE: a new dimension behind a ':' that no dimension is left for."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 16)
    tl.store(x, tl.sum(a[:, :, None]))


def run():
    kernel.lower("*fp32")


# ----
# value_index_none_beyond.py:10:24: CompileError[VALUE]: too many indices for a block of 1 dimension
#     tl.store(x, tl.sum(a[:, :, None]))
#                        ^~~~~~~~~~~~~
#   help: the block has shape [16]
