"""TYPE: exp of float16."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.exp(tl.load(x)))


def run():
    kernel.lower("*fp16")


# ----
# type_exp_half.py:9:24: CompileError[TYPE]: exp takes float32 or float64, not f16
#     tl.store(x, tl.exp(tl.load(x)))
#                        ^~~~~~~~~~
#   help: convert first: x.to(tl.float32)
