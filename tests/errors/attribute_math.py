"""VALUE: Python's math on a run-time value."""

import math

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, math.exp(tl.load(x)))


def run():
    kernel.lower("*fp32")


# ----
# attribute_math.py:11:17: CompileError[VALUE]: an argument of a compile-time function must be known when the kernel is compiled, but it is a run-time value of type f32
#     tl.store(x, math.exp(tl.load(x)))
#                 ^~~~~~~~~~~~~~~~~~~~
#   help: pass it as a tl.constexpr parameter of the kernel
