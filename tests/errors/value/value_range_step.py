"""VALUE: a step whose size does not fit 64 bits."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for i in range(0, 8, -(2**63)):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_range_step.py:9:14: CompileError[VALUE]: the step of a range must not be below -2**63 + 1
#     for i in range(0, 8, -(2**63)):
#              ^~~~~~~~~~~~~~~~~~~~~
