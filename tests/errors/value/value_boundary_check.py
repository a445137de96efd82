"""VALUE: boundary_check with plain pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.load(x + i, boundary_check=(0,)))


def run():
    kernel.lower("*fp32")


# ----
# value_boundary_check.py:10:36: CompileError[VALUE]: boundary_check and padding_option are for block pointers; use mask and other
#     tl.store(x + i, tl.load(x + i, boundary_check=(0,)))
#                                    ^~~~~~~~~~~~~~~~~~~
