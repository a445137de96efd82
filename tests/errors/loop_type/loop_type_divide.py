"""LOOP_TYPE: '/' makes a float of an integer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    while n > 0:
        n = n / 2
    tl.store(x, n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_type_divide.py:10:9: CompileError[LOOP_TYPE]: loop-carried variable 'n' has type i32 before the loop and f32 after one iteration
#         n = n / 2
#         ^~~~~~~~~
#   help: '//' divides integers and gives an integer
