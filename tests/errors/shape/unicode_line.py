"""SHAPE: a caret under a line with wide characters."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    größe = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(größe + tl.arange(0, 32)))


def run():
    kernel.lower("*fp32")


# ----
# unicode_line.py:10:24: CompileError[SHAPE]: cannot broadcast 'größe' (f32[16, 16]) with 'tl.arange(0, 32)' (i32[32]): their last dimensions are 16 and 32
#     tl.store(x, tl.sum(größe + tl.arange(0, 32)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~
#   help: only dimensions of 1 stretch, counted from the last; x[:, None] and x[None, :] add one
