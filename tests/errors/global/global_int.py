"""GLOBAL: a plain number of the module."""

import tegula
import tegula.language as tl

LIMIT = 7


@tegula.jit
def kernel(x):
    tl.store(x, LIMIT)


def run():
    kernel.lower("*fp32")


# ----
# global_int.py:11:17: CompileError[GLOBAL]: global variable 'LIMIT' cannot be used in a kernel: it is the constant int 7, not a tl.constexpr
#     tl.store(x, LIMIT)
#                 ^~~~~
#   help: write LIMIT = tl.constexpr(7), or pass it as an argument
