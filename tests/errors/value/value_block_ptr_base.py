"""VALUE: a block pointer based on a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x + tl.arange(0, 16), (n,), (1,), (0,), (16,), (0,))
    tl.store(p, tl.zeros((16,), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_block_ptr_base.py:9:27: CompileError[VALUE]: base must be a scalar pointer, not ptr<f32>[16]
#     p = tl.make_block_ptr(x + tl.arange(0, 16), (n,), (1,), (0,), (16,), (0,))
#                           ^~~~~~~~~~~~~~~~~~~~
