"""TYPE: the length lies in memory, and its tl.load was left out."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, length):
    for i in range(length):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_range_pointer.py:9:14: CompileError[TYPE]: the end of a range must be an integer scalar, not a pointer to i32
#     for i in range(length):
#              ^~~~~~~~~~~~~
#   help: that is an address: tl.load(p) reads a number
