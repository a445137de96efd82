"""VALUE: too few offsets for advance."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    p = tl.advance(p, (16,))
    tl.store(p, tl.zeros((16, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_advance_rank.py:11:23: CompileError[VALUE]: offsets needs 2 entries, one for each dimension, not 1
#     p = tl.advance(p, (16,))
#                       ^~~~~
