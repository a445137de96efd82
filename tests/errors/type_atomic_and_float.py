"""TYPE: a bitwise atomic on floats."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_and(x, 1)


def run():
    kernel.lower("*fp32")


# ----
# type_atomic_and_float.py:9:5: CompileError[TYPE]: atomic_and does not support pointers to f32
#     tl.atomic_and(x, 1)
#     ^~~~~~~~~~~~~~~~~~~
#   help: integers of 32 and 64 bits are possible
