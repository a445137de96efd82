"""SHAPE: a where of shapes that do not fit."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 16)
    v = tl.where(i < n, tl.zeros((32,), tl.float32), 0.0)
    tl.store(x, tl.sum(v))


def run():
    kernel.lower("*fp32", "i32")


# ----
# shape_where.py:10:9: CompileError[SHAPE]: cannot broadcast 'i < n' (i1[16]) with 'tl.zeros((32,), tl.float32)' (f32[32]): their lengths are 16 and 32
#     v = tl.where(i < n, tl.zeros((32,), tl.float32), 0.0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: blocks of one length combine element by element; x[:, None] and y[None, :] combine each with each, to [16, 32]
