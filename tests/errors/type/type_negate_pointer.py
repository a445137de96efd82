"""TYPE: minus a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(-x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_negate_pointer.py:9:14: CompileError[TYPE]: '-' is not available on a pointer to f32
#     tl.store(-x, 1.0)
#              ^~
#   help: tl.load reads what it points to
