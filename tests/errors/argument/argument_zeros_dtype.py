"""ARGUMENT: zeros without a dtype."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16,))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# argument_zeros_dtype.py:9:9: CompileError[ARGUMENT]: zeros(): the argument 'dtype' is missing
#     a = tl.zeros((16,))
#         ^~~~~~~~~~~~~~~
#   help: it is zeros(shape, dtype)
