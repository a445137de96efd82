"""SYNTAX: a comprehension with two for."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    t = [i * j for i in (1, 2) for j in (3, 4)]
    tl.store(x, t[0])


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_comprehension.py:9:9: CompileError[SYNTAX]: a list comprehension with two 'for' is not part of the kernel language
#     t = [i * j for i in (1, 2) for j in (3, 4)]
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
