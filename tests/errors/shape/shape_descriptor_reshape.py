"""SHAPE: a block with as many elements as the block of the descriptor."""

import tegula
import tegula.language as tl


@tegula.jit
def put(x):
    d = tl.make_tensor_descriptor(x, [4, 32], [32, 1], [1, 32])
    d.store([0, 0], tl.arange(0, 32).to(tl.float32))


def run():
    put.lower("*fp32:16")


# ----
# shape_descriptor_reshape.py:10:21: CompileError[SHAPE]: the value has the shape [32], and the descriptor's block [1, 32]
#     d.store([0, 0], tl.arange(0, 32).to(tl.float32))
#                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.reshape(value, desc.block_shape) gives it that shape
