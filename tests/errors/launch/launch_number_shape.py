"""A launch: a shape in the place of a number."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    x = np.zeros(16, np.float32)
    kernel[(1,)](x, x.shape)


# ----
# launch_number_shape.py:12:29: CompileError[TYPE]: '<' cannot compare 'i' (a block i32[16]) and 'n' (the tuple (i32,))
#     tl.store(x + i, n, mask=i < n)
#                             ^~~~~
#   help: t[0] is the first of a tuple's elements
