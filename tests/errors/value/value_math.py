"""VALUE: Python's math on a block."""

import math

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, math.sqrt(v))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_math.py:12:27: CompileError[VALUE]: an argument of sqrt() must be known when the kernel is compiled, but 'v' (a block f32[64]) is known only when it runs
#     tl.store(x, math.sqrt(v))
#                           ^
#   help: the kernel language has tl.sqrt
