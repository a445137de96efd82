"""TYPE: fp8 beside an integer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(x, tl.load(y) + n)


def run():
    kernel.lower("*fp32", "*fp8e5", "i32")


# ----
# type_fp8_int.py:9:17: CompileError[TYPE]: '+' cannot combine f8e5m2 and i32
#     tl.store(x, tl.load(y) + n)
#                 ^~~~~~~~~~~~~~
#   help: convert first: x.to(tl.float32)
