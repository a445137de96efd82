"""TYPE: exp of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.exp(n + 0))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_exp_int.py:9:24: CompileError[TYPE]: exp takes float32 or float64, not i32
#     tl.store(x, tl.exp(n + 0))
#                        ^~~~~
#   help: convert first: x.to(tl.float32)
