"""SYNTAX: else of a while."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = 0
    while i < n:
        i += 1
    else:
        tl.store(x, 2.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_while_else.py:13:9: CompileError[SYNTAX]: 'else' of a while is not part of the kernel language
#         tl.store(x, 2.0)
#         ^~~~~~~~~~~~~~~~
#   help: set a flag before the break and test it after the loop
