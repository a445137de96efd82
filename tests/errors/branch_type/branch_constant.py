"""BRANCH_TYPE: an integer that a branch replaces by a float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    y = 1
    if n > 0:
        y = tl.load(x)
    tl.store(x, y)


def run():
    kernel.lower("*fp32", "i32")


# ----
# branch_constant.py:11:9: CompileError[BRANCH_TYPE]: variable 'y' has type f32 in one branch and i32 in the other
#         y = tl.load(x)
#         ^~~~~~~~~~~~~~
#   help: write y = 1.0 in place of 1
