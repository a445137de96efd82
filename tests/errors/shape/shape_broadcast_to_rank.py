"""SHAPE: broadcast_to adds no dimension."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.broadcast_to(tl.arange(0, 16), (4, 16))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# shape_broadcast_to_rank.py:9:9: CompileError[SHAPE]: the block cannot be broadcast to that shape: 'tl.arange(0, 16)' (i32[16]) and the shape [4, 16]
#     a = tl.broadcast_to(tl.arange(0, 16), (4, 16))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: x[None, :] and x[:, None] add the dimensions that miss
