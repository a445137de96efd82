"""VALUE: a split of a dimension other than 2."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a, b = tl.split(tl.zeros((16, 4), tl.float32))
    tl.store(x, tl.sum(a + b))


def run():
    kernel.lower("*fp32")


# ----
# value_split.py:9:12: CompileError[VALUE]: split needs a last dimension of 2, not the shape [16, 4]
#     a, b = tl.split(tl.zeros((16, 4), tl.float32))
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: x.reshape(.., 2) makes such a dimension
