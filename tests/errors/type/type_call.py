"""TYPE: calling what is no function."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n(3))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_call.py:9:17: CompileError[TYPE]: 'n' (an i32 scalar) cannot be called
#     tl.store(x, n(3))
#                 ^~~~
#   help: x * (..) multiplies; x[..] indexes a block
