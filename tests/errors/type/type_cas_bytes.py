"""TYPE: atomic_cas on bytes."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_cas(x, 0, 1)


def run():
    kernel.lower("*u8")


# ----
# type_cas_bytes.py:9:5: CompileError[TYPE]: atomic_cas works on 16, 32 and 64 bits, not on u8
#     tl.atomic_cas(x, 0, 1)
#     ^~~~~~~~~~~~~~~~~~~~~~
