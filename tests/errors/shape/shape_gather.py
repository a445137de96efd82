"""SHAPE: an index of another rank."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.gather(a, tl.arange(0, 16), 0)))


def run():
    kernel.lower("*fp32")


# ----
# shape_gather.py:10:24: CompileError[SHAPE]: the index of gather does not fit its source: 'a' (f32[16, 16]) and 'tl.arange(0, 16)' (i32[16])
#     tl.store(x, tl.sum(tl.gather(a, tl.arange(0, 16), 0)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: index has as many dimensions as src, and the same ones but along axis
