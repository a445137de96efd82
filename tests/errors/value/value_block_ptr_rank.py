"""VALUE: strides of another rank."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n,), (0, 0), (16, 16), (1, 0))
    tl.store(p, tl.zeros((16, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_block_ptr_rank.py:9:38: CompileError[VALUE]: strides needs 2 entries, one for each dimension, not 1
#     p = tl.make_block_ptr(x, (n, n), (n,), (0, 0), (16, 16), (1, 0))
#                                      ^~~~
