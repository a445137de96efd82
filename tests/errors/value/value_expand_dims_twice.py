"""VALUE: one new axis named twice."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.expand_dims(tl.arange(0, 16), (0, -3))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_expand_dims_twice.py:9:9: CompileError[VALUE]: axis -3 appears twice
#     a = tl.expand_dims(tl.arange(0, 16), (0, -3))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
