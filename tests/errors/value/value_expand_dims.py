"""VALUE: a new axis that the result does not have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.expand_dims(tl.arange(0, 16), 3)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_expand_dims.py:9:9: CompileError[VALUE]: axis 3 is outside the 2 dims of the result
#     a = tl.expand_dims(tl.arange(0, 16), 3)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
