"""SYNTAX: a chained comparison."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, 1.0, mask=0 < n < 3)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_chain.py:9:27: CompileError[SYNTAX]: a chained comparison is not part of the kernel language
#     tl.store(x, 1.0, mask=0 < n < 3)
#                           ^~~~~~~~~
#   help: write (a < b) & (b < c)
