"""VALUE: item() of more than one element."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.arange(0, 16).item())


def run():
    kernel.lower("*fp32")


# ----
# value_item.py:9:17: CompileError[VALUE]: item() needs a block of one element, not i32[16]
#     tl.store(x, tl.arange(0, 16).item())
#                 ^~~~~~~~~~~~~~~~~~~~~~~
#   help: x[0] is an element of a block, tl.sum(x) and tl.max(x) one number
