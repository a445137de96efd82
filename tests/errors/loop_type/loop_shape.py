"""LOOP_TYPE: a scalar that becomes a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    acc = 0.0
    for i in range(n):
        acc += tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.sum(acc))


def run():
    kernel.lower("*fp32", "i32")


# ----
# loop_shape.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'acc' has type f32 before the loop and f32[64] after one iteration
#         acc += tl.load(x + tl.arange(0, 64))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: line 9: start with its final shape: acc = tl.zeros([64], tl.float32)
