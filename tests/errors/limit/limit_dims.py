"""LIMIT: more dims than a block can have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.reshape(tl.arange(0, 16), [2] * 4 + [1] * 17)
    tl.store(x, tl.sum(tl.reshape(v, [16])))


def run():
    kernel.lower("*i32")


# ----
# limit_dims.py:9:9: UnsupportedError[LIMIT]: a shape has 21 entries; at most 20 are possible
#     v = tl.reshape(tl.arange(0, 16), [2] * 4 + [1] * 17)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
