"""TYPE: fma of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.fma(n, n, n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_fma.py:9:17: CompileError[TYPE]: fma takes floats, not i32
#     tl.store(x, tl.fma(n, n, n))
#                 ^~~~~~~~~~~~~~~
#   help: convert first: x.to(tl.float32)
