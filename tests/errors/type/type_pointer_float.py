"""TYPE: a float added to a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x + n / 2, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_pointer_float.py:9:14: CompileError[TYPE]: '+' cannot combine 'x' (a pointer to f32) and 'n / 2' (an f32 scalar)
#     tl.store(x + n / 2, 1.0)
#              ^~~~~~~~~
#   help: offsets are integers: '//' divides them, and x.to(tl.int32) converts a float
