"""VALUE: a constant divided by zero."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, 64 // N)


def run():
    kernel.lower("*fp32", N=0)


# ----
# value_division_zero.py:9:17: CompileError[VALUE]: ZeroDivisionError: integer division or modulo by zero
#     tl.store(x, 64 // N)
#                 ^~~~~~~
