"""TYPE: an exclusive or of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.xor_sum(tl.zeros((16,), tl.float32), 0))


def run():
    kernel.lower("*fp32")


# ----
# type_xor_sum.py:9:17: CompileError[TYPE]: xor_sum takes integers, not f32[16]
#     tl.store(x, tl.xor_sum(tl.zeros((16,), tl.float32), 0))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: convert first: x.to(tl.int32)
