"""SYNTAX: in."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    if n in (1, 2):
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_in.py:9:8: CompileError[SYNTAX]: 'in' is not part of the kernel language
#     if n in (1, 2):
#        ^~~~~~~~~~~
