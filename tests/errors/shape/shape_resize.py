"""SHAPE: resize does not add a dimension."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.resize(tl.arange(0, 12), (3, 4))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*i32")


# ----
# shape_resize.py:9:9: CompileError[SHAPE]: resize to another number of dimensions: 'tl.arange(0, 12)' (i32[12]) and the shape [3, 4]
#     a = tl.resize(tl.arange(0, 12), (3, 4))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: resize keeps the dims; x[:, None] adds one
