"""SHAPE: more values than pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x + tl.arange(0, 4), tl.arange(0, 8))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# shape_store_longer.py:9:5: CompileError[SHAPE]: cannot broadcast 'tl.arange(0, 8)' (i32[8]) with 'x + tl.arange(0, 4)' (ptr<f32>[4]): their lengths are 8 and 4
#     tl.store(x + tl.arange(0, 4), tl.arange(0, 8))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: blocks of one length combine element by element; x[:, None] and y[None, :] combine each with each, to [8, 4]
