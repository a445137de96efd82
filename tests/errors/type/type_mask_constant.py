"""TYPE: an offset in the place of the mask."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x, 3))


def run():
    kernel.lower("*fp32")


# ----
# type_mask_constant.py:9:28: CompileError[TYPE]: the mask of load must be of int1, not i32
#     tl.store(x, tl.load(x, 3))
#                            ^
#   help: a mask is True or False; offsets are added to the pointer, p + i
