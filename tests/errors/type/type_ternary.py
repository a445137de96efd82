"""TYPE: a run-time choice between two types."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.load(x)
    tl.store(x, v if n > 3 else 0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_ternary.py:10:17: CompileError[TYPE]: the two sides of 'a if c else b' have the types f32 and i32
#     tl.store(x, v if n > 3 else 0)
#                 ^~~~~~~~~~~~~~~~~
#   help: both sides need one type, also of literals: 0.0 beside f32; or use tl.where, which promotes
