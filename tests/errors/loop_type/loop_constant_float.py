"""LOOP_TYPE: a sum of floats that starts with an integer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    total = 0
    for i in range(n):
        total = total + tl.load(x + i)
    tl.store(x, total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_constant_float.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'total' has type i32 before the loop and f32 after one iteration
#         total = total + tl.load(x + i)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: line 9: start with a float, total = 0.0, or assign total.to(tl.int32)
