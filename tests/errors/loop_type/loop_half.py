"""LOOP_TYPE: a float16 accumulator that promotes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    acc = tl.zeros((16,), tl.float16)
    for i in range(n):
        acc += tl.load(x + tl.arange(0, 16)).to(tl.float32)
    tl.store(x + tl.arange(0, 16), acc)


def run():
    kernel.lower("*fp16", "i32")


# ----
# loop_half.py:11:9: CompileError[LOOP_TYPE]: loop-carried variable 'acc' has type f16[16] before the loop and f32[16] after one iteration
#         acc += tl.load(x + tl.arange(0, 16)).to(tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: line 9: start with tl.float32, or assign acc.to(tl.float16) in the loop
