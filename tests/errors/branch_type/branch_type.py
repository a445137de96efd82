"""BRANCH_TYPE: a branch that changes a type."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    y = tl.load(x)
    if n > 3:
        y = n
    tl.store(x, y)


def run():
    kernel.lower("*fp32", "i32")


# ----
# branch_type.py:11:9: CompileError[BRANCH_TYPE]: variable 'y' has type i32 in one branch and f32 in the other
#         y = n
#         ^~~~~
#   help: convert one: x.to(tl.float32)
