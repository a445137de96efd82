"""TYPE: a loop up to a float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in range(n / 2):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_range_float.py:9:14: CompileError[TYPE]: the end of a range must be an integer scalar, not an f32 scalar
#     for i in range(n / 2):
#              ^~~~~~~~~~~~
#   help: '//' divides integers; x.to(tl.int32) converts
