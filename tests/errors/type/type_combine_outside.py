"""TYPE: a combine function that uses a block from outside."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    w = tl.load(x + 64 + i)
    tl.store(x, tl.reduce(v, 0, lambda a, b: a + b * w))


def run():
    kernel.lower("*fp32")


# ----
# type_combine_outside.py:12:17: CompileError[TYPE]: the combine function of reduce returns f32[64], expected f32
#     tl.store(x, tl.reduce(v, 0, lambda a, b: a + b * w))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it gets single elements; of several blocks, tl.reduce((x, y), axis, f) gives it one of each
