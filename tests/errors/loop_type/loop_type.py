"""LOOP_TYPE: an integer that becomes a float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    acc = 0
    for i in range(n):
        acc += tl.load(x + i)
    tl.store(x, acc)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_type.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'acc' has type i32 before the loop and f32 after one iteration
#         acc += tl.load(x + i)
#         ^~~~~~~~~~~~~~~~~~~~~
#   help: line 9: start with a float, acc = 0.0, or assign acc.to(tl.int32)
