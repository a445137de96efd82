"""VALUE: an order that is no permutation."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (2, 1))
    tl.store(p, tl.zeros((16, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_block_ptr_order.py:9:64: CompileError[VALUE]: order must be a permutation of 0..1, not (2, 1)
#     p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (2, 1))
#                                                                ^~~~~~
