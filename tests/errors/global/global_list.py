"""GLOBAL: a list of the module."""

import tegula
import tegula.language as tl

SIZES = [1, 2, 3]


@tegula.jit
def kernel(x):
    tl.store(x, SIZES[0])


def run():
    kernel.lower("*fp32")


# ----
# global_list.py:11:17: CompileError[GLOBAL]: global variable 'SIZES' cannot be used in a kernel: it is [1, 2, 3], not a tl.constexpr
#     tl.store(x, SIZES[0])
#                 ^~~~~
#   help: pass it as an argument, or wrap it: tl.constexpr(..)
