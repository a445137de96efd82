"""VALUE: an element outside of the block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 64)
    tl.store(x, a[64])


def run():
    kernel.lower("*i32")


# ----
# value_element.py:10:17: CompileError[VALUE]: index 64 is outside a dimension of 64
#     tl.store(x, a[64])
#                 ^~~~~
