"""SYNTAX: a star on the left."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    a, *b = (1.0, 2.0, 3.0)
    tl.store(x, a)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_star_assign.py:9:8: CompileError[SYNTAX]: '*' in an assignment is not part of the kernel language
#     a, *b = (1.0, 2.0, 3.0)
#        ^~
