"""SHAPE: a broadcast to a shape that does not fit."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.broadcast_to(tl.arange(0, 16)[:, None], (32, 16))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# shape_broadcast_to.py:9:9: CompileError[SHAPE]: the block cannot be broadcast to that shape: 'tl.arange(0, 16)[:, None]' (i32[16, 1]) and the shape [32, 16]
#     a = tl.broadcast_to(tl.arange(0, 16)[:, None], (32, 16))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: each dimension must be equal, or 1 in the block
