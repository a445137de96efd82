"""LOOP_TYPE: an integer that a while makes a float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = n
    while v > 1:
        v = v / 2
    tl.store(x, v)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_while_type.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'v' has type i32 before the loop and f32 after one iteration
#         v = v / 2
#         ^~~~~~~~~
#   help: '//' divides integers and gives an integer
