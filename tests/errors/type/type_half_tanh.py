"""TYPE: tanh of halves."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 4)).to(tl.float16)
    tl.store(x, tl.sum(tl.tanh(v)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_half_tanh.py:10:32: CompileError[TYPE]: tanh takes float32 or float64, not f16[4]
#     tl.store(x, tl.sum(tl.tanh(v)))
#                                ^
#   help: convert first: v.to(tl.float32)
