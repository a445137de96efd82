"""SHAPE: a value of another shape through a descriptor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 16])

    d.store([0, 0], tl.zeros((32, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# shape_descriptor_store.py:11:21: CompileError[SHAPE]: the value has the shape [32, 16], and the descriptor's block [16, 16]
#     d.store([0, 0], tl.zeros((32, 16), tl.float32))
#                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
