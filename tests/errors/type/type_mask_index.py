"""TYPE: indices as a mask."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 64)
    tl.store(x + i, 0.0, mask=i)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_mask_index.py:10:26: CompileError[TYPE]: the mask of store must be of int1, not i32[64]
#     tl.store(x + i, 0.0, mask=i)
#                          ^~~~~~
#   help: compare: i != 0
