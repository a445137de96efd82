"""TYPE: a shift of floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) << 2)


def run():
    kernel.lower("*fp32")


# ----
# type_shift_float.py:9:17: CompileError[TYPE]: '<<' works on integers, not on f32
#     tl.store(x, tl.load(x) << 2)
#                 ^~~~~~~~~~~~~~~
#   help: x.to(tl.int32) converts; x.to(tl.int32, bitcast=True) keeps the bits
