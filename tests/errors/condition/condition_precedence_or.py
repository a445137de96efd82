"""CONDITION: | between comparisons without parentheses."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 64)
    n = tl.load(y)
    tl.store(x + i, 1.0, mask=i < n | i == 7)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# condition_precedence_or.py:11:35: CompileError[CONDITION]: '|' binds before the comparisons on both sides of it
#     tl.store(x + i, 1.0, mask=i < n | i == 7)
#                                   ^~~~~
#   help: write (a < b) | (c < d)
