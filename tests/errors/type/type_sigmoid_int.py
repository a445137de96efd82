"""TYPE: sigmoid of integers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.sigmoid(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_sigmoid_int.py:9:17: CompileError[TYPE]: sigmoid takes float32 or float64, not i32
#     tl.store(x, tl.sigmoid(n))
#                 ^~~~~~~~~~~~~
#   help: convert first: x.to(tl.float32)
