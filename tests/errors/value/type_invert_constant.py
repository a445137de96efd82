"""TYPE: ~ of a float that is known."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, ~1.5)


def run():
    kernel.lower("*fp32")


# ----
# type_invert_constant.py:9:17: CompileError[VALUE]: TypeError: bad operand type for unary ~: 'float'
#     tl.store(x, ~1.5)
#                 ^~~~
#   help: '~' turns the bits of an int or a mask around; -x changes the sign
