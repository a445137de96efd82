"""TYPE: a sum of fp8."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x + tl.arange(0, 16))
    tl.store(x, tl.sum(v))


def run():
    kernel.lower("*fp8e5")


# ----
# type_fp8_sum.py:10:17: CompileError[TYPE]: sum is not available on f8e5m2
#     tl.store(x, tl.sum(v))
#                 ^~~~~~~~~
#   help: convert to tl.float16 or tl.float32 first
