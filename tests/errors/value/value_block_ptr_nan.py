"""VALUE: integers padded with NaN."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (16,), (0,))
    tl.store(x, tl.sum(tl.load(p, boundary_check=(0,), padding_option="nan")))


def run():
    kernel.lower("*i32", "i32")


# ----
# value_block_ptr_nan.py:10:56: CompileError[VALUE]: padding_option "nan" is for floats, not for i32
#     tl.store(x, tl.sum(tl.load(p, boundary_check=(0,), padding_option="nan")))
#                                                        ^~~~~~~~~~~~~~~~~~~~
