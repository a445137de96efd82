"""VALUE: .T of three dimensions."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((2, 4, 8), tl.float32)
    tl.store(x, tl.sum(a.T))


def run():
    kernel.lower("*fp32")


# ----
# value_attribute_t.py:10:24: CompileError[VALUE]: x.T needs two dimensions, not the shape [2, 4, 8]
#     tl.store(x, tl.sum(a.T))
#                        ^~~
#   help: tl.permute(x, dims) reorders any number of dimensions
