"""SHAPE: [64] beside [64, 32]."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((64, 32), tl.float32)
    b = tl.arange(0, 64)
    c = a + b
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# shape_add.py:11:9: CompileError[SHAPE]: cannot broadcast 'a' (f32[64, 32]) with 'b' (i32[64]): their last dimensions are 32 and 64
#     c = a + b
#         ^~~~~
#   help: b[:, None] has the shape [64, 1], which stretches to [64, 32]
