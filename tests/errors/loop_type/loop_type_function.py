"""LOOP_TYPE: a function that becomes a tensor; where it lies in memory is no help."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    top = tl.dot
    for i in range(n):
        top = tl.load(x + i)
    tl.store(x, top)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_type_function.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'top' has type <function dot> before the loop and f32 after one iteration
#         top = tl.load(x + i)
#         ^~~~~~~~~~~~~~~~~~~~
#   help: line 9: a loop that runs may only change tensors, not constants: start with a tensor of the final type
