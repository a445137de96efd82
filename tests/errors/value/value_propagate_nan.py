"""VALUE: a flag of maximum that is a bool."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, tl.maximum(v, 0.0, propagate_nan=True))


def run():
    kernel.lower("*fp32")


# ----
# value_propagate_nan.py:10:17: CompileError[VALUE]: propagate_nan must be tl.PropagateNan.NONE or .ALL, not True
#     tl.store(x, tl.maximum(v, 0.0, propagate_nan=True))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
