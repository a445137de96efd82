"""TYPE: a block is not unpacked."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    a, b, c = tl.arange(0, 3)
    tl.store(x + a, b + c)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_unpack_block.py:9:5: CompileError[TYPE]: what is unpacked must be a tuple or a range, not a block i32[3]
#     a, b, c = tl.arange(0, 3)
#     ^~~~~~~~~~~~~~~~~~~~~~~~~
#   help: x[0], x[1] are the elements of a block
