"""TYPE: arithmetic on an argument that is None."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, 1.0 + n)


def run():
    kernel.lower("*fp32", None)


# ----
# type_none_operand.py:9:23: CompileError[TYPE]: '+' works on numbers and tensors, and 'n' is None
#     tl.store(x, 1.0 + n)
#                       ^
#   help: an argument that may be None is tested with 'is not None'; tl.store and functions without a return give None
