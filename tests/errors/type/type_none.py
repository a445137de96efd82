"""TYPE: arithmetic on an optional argument."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y=None):
    tl.store(x, y + 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_none.py:9:17: CompileError[TYPE]: '+' works on numbers and tensors, and 'y' is None
#     tl.store(x, y + 1.0)
#                 ^
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
