"""TYPE: a block as an index."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 64)
    tl.store(x + tl.arange(0, 64), a[63 - a])


def run():
    kernel.lower("*i32")


# ----
# type_element.py:10:36: CompileError[TYPE]: a block is indexed by integers, slices and None, not by a block i32[64]
#     tl.store(x + tl.arange(0, 64), a[63 - a])
#                                    ^~~~~~~~~
#   help: tl.gather(x, index, axis) picks by a block of indices
