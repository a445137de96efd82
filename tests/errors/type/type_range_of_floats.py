"""TYPE: a range of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for q in range(0.0, 1.0, 0.1):
        tl.store(x, q)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_range_of_floats.py:9:14: CompileError[TYPE]: the start of a range must be an integer, not the constant float 0.0
#     for q in range(0.0, 1.0, 0.1):
#              ^~~~~~~~~~~~~~~~~~~~
#   help: count in integers and multiply: for q in range(10): x = q * 0.1
