"""TYPE: unary plus of a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, +tl.load(x))


def run():
    kernel.lower("*fp32")


# ----
# type_plus.py:9:17: CompileError[TYPE]: unary '+' is not available on tensors
#     tl.store(x, +tl.load(x))
#                 ^~~~~~~~~~~
#   help: leave it out
