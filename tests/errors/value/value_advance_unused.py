"""VALUE: advance does not move its argument."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    tl.advance(p, (16, 0))
    tl.store(p, tl.zeros((16, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_advance_unused.py:11:5: CompileError[VALUE]: The result of advance is not being used
#     tl.advance(p, (16, 0))
#     ^~~~~~~~~~~~~~~~~~~~~~
#   help: write p = tl.advance(p, ..)
