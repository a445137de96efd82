"""NAME: a variable that only one branch defines."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    if n > 3:
        y = 1.0
    tl.store(x, y)


def run():
    kernel.lower("*fp32", "i32")


# ----
# name_branch.py:11:17: CompileError[NAME]: name 'y' is not defined
#     tl.store(x, y)
#                 ^
#   help: 'y' has a value in one branch of the if of line 9 alone; give it one in the other too, or before the if
