"""SHAPE: a value of another shape through a block pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    tl.store(p, tl.zeros((32, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# shape_block_ptr_store.py:11:5: CompileError[SHAPE]: cannot combine shapes [32, 16] and [16, 16]
#     tl.store(p, tl.zeros((32, 16), tl.float32))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: extents must be equal or 1, counted from the last dimension
