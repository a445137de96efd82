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
# shape_where.py:10:9: CompileError[SHAPE]: cannot combine shapes [16] and [32]
#     v = tl.where(i < n, tl.zeros((32,), tl.float32), 0.0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: extents must be equal or 1; x[:, None] and y[None, :] make an outer product
