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
# shape_block_ptr_store.py:11:5: CompileError[SHAPE]: cannot broadcast 'tl.zeros((32, 16), tl.float32)' (f32[32, 16]) with the shape [16, 16]: their dimensions before the last are 32 and 16
#     tl.store(p, tl.zeros((32, 16), tl.float32))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: only dimensions of 1 stretch, counted from the last; x[:, None] and x[None, :] add one
