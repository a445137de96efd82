"""TYPE: resize extends by one number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 12)
    tl.store(x + tl.arange(0, 20), tl.resize(i, (20,), fill=i))


def run():
    kernel.lower("*i32")


# ----
# type_resize_fill.py:10:36: CompileError[TYPE]: fill must be a scalar number, not i32[12]
#     tl.store(x + tl.arange(0, 20), tl.resize(i, (20,), fill=i))
#                                    ^~~~~~~~~~~~~~~~~~~~~~~~~~~
