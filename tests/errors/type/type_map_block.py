"""TYPE: a block for each element in a function of map_elementwise."""

import tegula
import tegula.language as tl


@tegula.jit
def f(v):
    return tl.sum(v + tl.arange(0, 4), 0)


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.map_elementwise(f, i))


def run():
    kernel.lower("*i32")


# ----
# type_map_block.py:9:19: CompileError[TYPE]: a function of map_elementwise makes a block, i32[4], for each element
#     return tl.sum(v + tl.arange(0, 4), 0)
#                   ^~~~~~~~~~~~~~~~~~~
#   help: it gets single elements and computes single ones from them; what works on blocks is called outside of it
#   in f(), inlined from type_map_block.py:15
