"""TYPE: an index that is a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 16)
    tl.store(x + a, a[a])


def run():
    kernel.lower("*fp32")


# ----
# type_index_block.py:10:21: CompileError[TYPE]: a block is indexed by integers, slices and None, not by a block i32[16]
#     tl.store(x + a, a[a])
#                     ^~~~
#   help: tl.gather(x, index, axis) picks by a block of indices
