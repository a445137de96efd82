"""TYPE: clamp of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.clamp(n, 0, 10))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_clamp.py:9:17: CompileError[TYPE]: clamp takes floats, not i32
#     tl.store(x, tl.clamp(n, 0, 10))
#                 ^~~~~~~~~~~~~~~~~~
#   help: tl.minimum(tl.maximum(x, low), high) works on integers
