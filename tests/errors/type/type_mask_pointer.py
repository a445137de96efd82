"""TYPE: a mask that is the address of one."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 64), mask=y)
    tl.store(x, tl.sum(v))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_mask_pointer.py:9:39: CompileError[TYPE]: the mask of load must be of int1, not ptr<i32>
#     v = tl.load(x + tl.arange(0, 64), mask=y)
#                                       ^~~~~~
#   help: that is an address: compare what it points to, tl.load(p + offsets) != 0
