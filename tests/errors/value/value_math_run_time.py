"""VALUE: a function of Python's math on a run-time value."""

import math

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, math.sqrt(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_math_run_time.py:11:27: CompileError[VALUE]: an argument of sqrt() must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x, math.sqrt(n))
#                           ^
#   help: annotate the parameter of kernel(): n: tl.constexpr; or the kernel language has tl.sqrt
