"""SYNTAX: unpacking in for."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i, j in range(n):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_for_unpack.py:9:9: CompileError[SYNTAX]: unpacking in 'for' over a range is not part of the kernel language
#     for i, j in range(n):
#         ^~~~
#   help: a range gives one integer: write 'for i in range(..)', and take it apart by // and %
