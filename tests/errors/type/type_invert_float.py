"""TYPE: ~ of a float."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, ~tl.load(x))


def run():
    kernel.lower("*fp32")


# ----
# type_invert_float.py:9:17: CompileError[TYPE]: '~' is not available on an f32 scalar
#     tl.store(x, ~tl.load(x))
#                 ^~~~~~~~~~~
#   help: x == 0 asks whether it is zero; x.to(tl.int32, bitcast=True) has its bits
