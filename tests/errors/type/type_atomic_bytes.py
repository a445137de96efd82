"""TYPE: an atomic on bytes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_add(x, 1)


def run():
    kernel.lower("*i8")


# ----
# type_atomic_bytes.py:9:5: CompileError[TYPE]: atomic_add does not support pointers to i8
#     tl.atomic_add(x, 1)
#     ^~~~~~~~~~~~~~~~~~~
#   help: 32 and 64 bits, float16 and bfloat16 are possible
