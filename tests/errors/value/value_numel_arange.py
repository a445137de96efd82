"""VALUE: an arange of too many elements."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(0, 1 << 21), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_numel_arange.py:9:18: CompileError[VALUE]: a block may have at most 1048576 elements, not 2097152
#     tl.store(x + tl.arange(0, 1 << 21), 1.0)
#                  ^~~~~~~~~~~~~~~~~~~~~
#   help: go over it in a loop, in smaller blocks
