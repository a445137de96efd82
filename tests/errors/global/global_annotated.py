"""GLOBAL: an annotation is not a tl.constexpr."""

import tegula
import tegula.language as tl

BLOCK: tl.constexpr = 64


@tegula.jit
def kernel(x):
    tl.store(x, BLOCK)


def run():
    kernel.lower("*fp32")


# ----
# global_annotated.py:11:17: CompileError[GLOBAL]: global variable 'BLOCK' cannot be used in a kernel: it is the constant int 64, not a tl.constexpr
#     tl.store(x, BLOCK)
#                 ^~~~~
#   help: write BLOCK = tl.constexpr(64), or pass it as an argument
