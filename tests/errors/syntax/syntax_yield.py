"""SYNTAX: yield."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    yield tl.load(x)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_yield.py:9:5: CompileError[SYNTAX]: 'yield' is not part of the kernel language
#     yield tl.load(x)
#     ^~~~~~~~~~~~~~~~
#   help: return gives a value from a function, tl.store from a kernel
