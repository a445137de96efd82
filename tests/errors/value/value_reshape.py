"""VALUE: reshape to another size."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 64).reshape(8, 4)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_reshape.py:9:9: CompileError[VALUE]: cannot reshape [64] (64 elements) to [8, 4] (32)
#     a = tl.arange(0, 64).reshape(8, 4)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
