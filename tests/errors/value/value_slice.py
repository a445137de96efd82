"""VALUE: a slice of nothing."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 64)
    tl.store(x + tl.arange(0, 4), a[4:4])


def run():
    kernel.lower("*i32")


# ----
# value_slice.py:10:37: CompileError[VALUE]: this slice picks 0 of 64 elements
#     tl.store(x + tl.arange(0, 4), a[4:4])
#                                     ^~~
#   help: a block has at least one element
