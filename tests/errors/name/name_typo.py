"""NAME: a misspelt local."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    offsets = tl.arange(0, 64)
    tl.store(x + ofsets, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# name_typo.py:10:18: CompileError[NAME]: name 'ofsets' is not defined
#     tl.store(x + ofsets, 1.0)
#                  ^~~~~~
#   help: did you mean 'offsets'?
