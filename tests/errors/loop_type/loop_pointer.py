"""LOOP_TYPE: a pointer that becomes a block of pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = x
    for i in range(n):
        p += tl.arange(0, 16)
    tl.store(p, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_pointer.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'p' has type ptr<f32> before the loop and ptr<f32>[16] after one iteration
#         p += tl.arange(0, 16)
#         ^~~~~~~~~~~~~~~~~~~~~
#   help: line 9: give it its final shape before the loop
