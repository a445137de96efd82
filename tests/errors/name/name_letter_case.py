"""NAME: a capital letter for a small one."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, n_rows):
    tl.store(x, N)


def run():
    kernel.lower("*fp32", "i32", "i32")


# ----
# name_letter_case.py:9:17: CompileError[NAME]: name 'N' is not defined
#     tl.store(x, N)
#                 ^
#   help: did you mean 'n'?
