"""TYPE: an accumulator of the wrong type."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    acc = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a, acc)))


def run():
    kernel.lower("*fp32")


# ----
# type_dot_acc.py:11:24: CompileError[TYPE]: dot of f32 accumulates in f32, but acc is f16[16, 16]
#     tl.store(x, tl.sum(tl.dot(a, a, acc)))
#                        ^~~~~~~~~~~~~~~~~
#   help: make acc of tl.float32: tl.zeros((M, N), dtype=tl.float32)
