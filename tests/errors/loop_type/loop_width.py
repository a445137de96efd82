"""LOOP_TYPE: a counter that becomes 64 bits wide."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, m):
    total = 0
    for i in range(n):
        total += m
    tl.store(x, total)


def run():
    kernel.lower("*fp32", "i32", "i64")


# ----
# loop_width.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'total' has type i32 before the loop and i64 after one iteration
#         total += m
#         ^~~~~~~~~~
#   help: line 9: start with tl.int64, or assign total.to(tl.int32) in the loop
