"""TYPE: an arange of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(0, 64.0), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_arange_float.py:9:31: CompileError[TYPE]: arange's end must be an int, not the constant float 64.0
#     tl.store(x + tl.arange(0, 64.0), 1.0)
#                               ^~~~
#   help: '//' divides integers, int(..) converts a constant
