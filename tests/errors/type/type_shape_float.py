"""TYPE: a shape of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    a = tl.zeros((N / 2,), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32", N=32)


# ----
# type_shape_float.py:9:19: CompileError[TYPE]: element 0 of a shape must be an int, not the constant float 16.0
#     a = tl.zeros((N / 2,), tl.float32)
#                   ^~~~~
#   help: '//' divides integers, int(..) converts a constant
