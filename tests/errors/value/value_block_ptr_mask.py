"""VALUE: a mask beside a block pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    tl.store(x, tl.sum(tl.load(p, mask=n > 3)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_block_ptr_mask.py:11:35: CompileError[VALUE]: mask and other are for plain pointers; a block pointer takes boundary_check and padding_option
#     tl.store(x, tl.sum(tl.load(p, mask=n > 3)))
#                                   ^~~~~~~~~~
