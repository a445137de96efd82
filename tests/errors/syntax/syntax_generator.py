"""SYNTAX: a generator expression."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, sum(i for i in range(4)))


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_generator.py:9:20: CompileError[SYNTAX]: a generator expression is not part of the kernel language
#     tl.store(x, sum(i for i in range(4)))
#                    ^~~~~~~~~~~~~~~~~~~~~
#   help: write a list comprehension, in brackets
