"""TYPE: a Python type for a dtype."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16,), float)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# type_zeros_dtype.py:9:25: CompileError[TYPE]: dtype must be a dtype such as tl.float32, not the class float
#     a = tl.zeros((16,), float)
#                         ^~~~~
#   help: write tl.float32
