"""TYPE: ** on tensors."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) ** 2)


def run():
    kernel.lower("*fp32")


# ----
# type_pow.py:9:17: CompileError[TYPE]: '**' is not available on tensors
#     tl.store(x, tl.load(x) ** 2)
#                 ^~~~~~~~~~~~~~~
#   help: write x * x, or tl.exp2(tl.log2(x) * y)
