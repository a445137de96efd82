"""VALUE: a padding that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    tl.store(x, tl.sum(tl.load(p, boundary_check=(0, 1), padding_option="one")))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_block_ptr_padding.py:11:58: CompileError[VALUE]: padding_option must be "", "zero" or "nan", not "one"
#     tl.store(x, tl.sum(tl.load(p, boundary_check=(0, 1), padding_option="one")))
#                                                          ^~~~~~~~~~~~~~~~~~~~
