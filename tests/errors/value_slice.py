"""VALUE: a slice of three elements."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 64)
    tl.store(x + tl.arange(0, 4), a[1:4])


def run():
    kernel.lower("*i32")


# ----
# value_slice.py:10:37: CompileError[VALUE]: this slice picks 3 of 64 elements
#     tl.store(x + tl.arange(0, 4), a[1:4])
#                                     ^~~
#   help: a slice has 1, 2, 4, 8 .. elements
