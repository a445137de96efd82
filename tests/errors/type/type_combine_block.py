"""TYPE: a combine function that makes a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    tl.store(x, tl.reduce(i, 0, lambda a, b: tl.max(a + tl.arange(0, 16), 0)))


def run():
    kernel.lower("*i32")


# ----
# type_combine_block.py:10:53: CompileError[TYPE]: the combine function of reduce() makes a block, i32[16], for each element
#     tl.store(x, tl.reduce(i, 0, lambda a, b: tl.max(a + tl.arange(0, 16), 0)))
#                                                     ^~~~~~~~~~~~~~~~~~~~
#   help: it gets single elements and computes single ones from them; what works on blocks is called outside of it
#   in lambda(), inlined from type_combine_block.py:10
