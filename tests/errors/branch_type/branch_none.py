"""BRANCH_TYPE: None or a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = None
    if n > 3:
        v = tl.load(x)
    if v is not None:
        tl.store(x, v)


def run():
    kernel.lower("*fp32", "i32")


# ----
# branch_none.py:11:9: CompileError[BRANCH_TYPE]: variable 'v' has type f32 in one branch and None in the other
#         v = tl.load(x)
#         ^~~~~~~~~~~~~~
#   help: start with a tensor: None and other constants cannot change when the kernel runs
