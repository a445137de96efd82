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
# attribute_math.py:11:26: CompileError[VALUE]: an argument of exp() must be known when the kernel is compiled, but 'tl.load(x)' (an f32 scalar) is known only when it runs
#     tl.store(x, math.exp(tl.load(x)))
#                          ^~~~~~~~~~
#   help: the kernel language has tl.exp
