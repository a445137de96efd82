"""VALUE: an element through a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, x[n])


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_index_pointer.py:9:17: CompileError[VALUE]: too many indices for a block of 0 dimensions
#     tl.store(x, x[n])
#                 ^~~~
#   help: the block has shape scalar
