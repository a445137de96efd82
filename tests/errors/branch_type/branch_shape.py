"""BRANCH_TYPE: a scalar or a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = 0.0
    if n > 3:
        v = tl.zeros((16,), tl.float32)
    else:
        v = 1.0
    tl.store(x, tl.sum(v))


def run():
    kernel.lower("*fp32", "i32")


# ----
# branch_shape.py:13:9: CompileError[BRANCH_TYPE]: variable 'v' has type f32[16] in one branch and f32 in the other
#         v = 1.0
#         ^~~~~~~
#   help: give both one shape: tl.full(shape, value, dtype)
