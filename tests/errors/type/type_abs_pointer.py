"""TYPE: the absolute value of a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.abs(x))


def run():
    kernel.lower("*fp32")


# ----
# type_abs_pointer.py:9:17: CompileError[TYPE]: abs is not available on a pointer to f32
#     tl.store(x, tl.abs(x))
#                 ^~~~~~~~~
#   help: tl.load it first
