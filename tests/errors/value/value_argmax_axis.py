"""VALUE: the largest with its index, along no axis."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    v, _ = tl.max(a, return_indices=True)
    tl.store(x, v)


def run():
    kernel.lower("*fp32")


# ----
# value_argmax_axis.py:10:12: CompileError[VALUE]: max with indices needs an axis
#     v, _ = tl.max(a, return_indices=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: axis=0 is the only one of a block of one dimension
