"""NAME: one letter for a longer name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, i_start):
    tl.store(x + i, n)


def run():
    kernel.lower("*fp32", "i32", "i32")


# ----
# name_one_letter.py:9:18: CompileError[NAME]: name 'i' is not defined
#     tl.store(x + i, n)
#                  ^
#   help: did you mean 'i_start'?
