"""NAME: a new variable of two types."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    if n > 3:
        v = 1
    else:
        v = 1.0
    tl.store(x, v)


def run():
    kernel.lower("*fp32", "i32")


# ----
# name_two_types.py:13:17: CompileError[BRANCH_TYPE]: variable 'v' has type i32 in one branch and f32 in the other
#     tl.store(x, v)
#                 ^
#   help: the if of line 9: give it one type in both
