"""TYPE: fdiv does not promote."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.fdiv(tl.load(x), n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_fdiv.py:9:17: CompileError[TYPE]: fdiv takes two floats of one type, not f32 and i32
#     tl.store(x, tl.fdiv(tl.load(x), n))
#                 ^~~~~~~~~~~~~~~~~~~~~~
#   help: convert first: x.to(tl.float32)
