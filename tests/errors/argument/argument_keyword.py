"""ARGUMENT: a misspelt keyword of a builtin."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 64)
    tl.store(x + i, 1.0, msk=i < n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_keyword.py:10:26: CompileError[ARGUMENT]: store(): it has no parameter 'msk'
#     tl.store(x + i, 1.0, msk=i < n)
#                          ^~~~~~~~~
#   help: did you mean 'mask'?
