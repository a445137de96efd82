"""VALUE: a block divided by the constant 0."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(x + i, i // N)


def run():
    kernel.lower("*fp32", N=0)


# ----
# value_floordiv_zero.py:10:26: CompileError[VALUE]: '//' by the constant 0
#     tl.store(x + i, i // N)
#                          ^
