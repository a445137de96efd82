"""LOOP_TYPE: a text that changes in a loop."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    mode = None
    for i in range(n):
        mode = i
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_constexpr.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'mode' has type None before the loop and i32 after one iteration
#         mode = i
#         ^~~~~~~~
#   help: line 9: a loop that runs may only change tensors, not constants: start with a tensor of the final type
