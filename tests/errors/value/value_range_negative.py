"""VALUE: a step of zero in an unrolled loop."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for i in tl.static_range(0, 8, 0):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_range_negative.py:9:14: CompileError[VALUE]: the step of a range must not be 0
#     for i in tl.static_range(0, 8, 0):
#              ^~~~~~~~~~~~~~~~~~~~~~~~
