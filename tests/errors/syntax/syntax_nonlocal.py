"""SYNTAX: a nested function that would set a variable outside."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    total = 0

    def add(v):
        nonlocal total
        total += v

    add(n)
    tl.store(x, total)


def run():
    kernel.lower("*i32", "i32")


# ----
# syntax_nonlocal.py:12:9: CompileError[SYNTAX]: 'nonlocal' is not part of the kernel language
#         nonlocal total
#         ^~~~~~~~~~~~~~
#   help: return the new value, and assign it where the function is called
#   in add(), inlined from syntax_nonlocal.py:15
