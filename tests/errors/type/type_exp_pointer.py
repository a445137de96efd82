"""TYPE: a pointer where the value behind it is meant."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.exp(x))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_exp_pointer.py:9:24: CompileError[TYPE]: exp takes float32 or float64, not ptr<f32>
#     tl.store(x, tl.exp(x))
#                        ^
#   help: tl.load(x) reads what is there
