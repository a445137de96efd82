"""SHAPE: an expression of several lines."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    b = tl.arange(0, 32)
    c = a + b
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# multi_line.py:11:9: CompileError[SHAPE]: cannot broadcast 'a' (f32[16, 16]) with 'b' (i32[32]): their last dimensions are 16 and 32
#     c = a + b
#         ^~~~~
#   help: only dimensions of 1 stretch, counted from the last; x[:, None] and x[None, :] add one
