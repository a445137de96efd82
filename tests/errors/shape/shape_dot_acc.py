"""SHAPE: an accumulator of the wrong shape."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 32), tl.float16)
    b = tl.zeros((32, 64), tl.float16)
    acc = tl.zeros((16, 32), tl.float32)
    tl.store(x, tl.sum(tl.dot(a, b, acc)))


def run():
    kernel.lower("*fp32")


# ----
# shape_dot_acc.py:12:37: CompileError[SHAPE]: acc of dot has the shape [16, 32], and the product [16, 64]
#     tl.store(x, tl.sum(tl.dot(a, b, acc)))
#                                     ^~~
#   help: acc = tl.zeros([16, 64], tl.float32)
