"""LIMIT: a combine function that makes a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 64)
    tl.store(x, tl.reduce(i, 0, lambda a, b: tl.max(a + tl.arange(0, 16), 0)))


def run():
    kernel.lower("*i32")


# ----
# limit_combine_block.py:10:57: UnsupportedError[LIMIT]: 'arange' in the combine function of reduce()
#     tl.store(x, tl.reduce(i, 0, lambda a, b: tl.max(a + tl.arange(0, 16), 0)))
#                                                         ^~~~~~~~~~~~~~~~
#   help: it gets two elements and computes one from them: arithmetic and choices
#   in lambda(), inlined from limit_combine_block.py:10
