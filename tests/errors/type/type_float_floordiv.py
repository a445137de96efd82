"""TYPE: // of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, v // 2.0)


def run():
    kernel.lower("*fp32")


# ----
# type_float_floordiv.py:10:17: CompileError[TYPE]: '//' works on integers, not on f32
#     tl.store(x, v // 2.0)
#                 ^~~~~~~~
#   help: tl.floor(x / y) rounds a quotient of floats down
