"""TYPE: a bitwise atomic on 16 bits."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_and(x, 1)


def run():
    kernel.lower("*fp16")


# ----
# type_atomic_and_narrow.py:9:5: CompileError[TYPE]: atomic_and does not support pointers to f16
#     tl.atomic_and(x, 1)
#     ^~~~~~~~~~~~~~~~~~~
#   help: 32 and 64 bits are possible
