"""TYPE: an atomic through a pointer declared tl.const."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x: tl.const):
    tl.atomic_add(x, 1.0)


def run():
    kernel.lower("*kfp32")


# ----
# type_atomic_const.py:9:19: CompileError[TYPE]: atomic_add through a pointer that is declared tl.const
#     tl.atomic_add(x, 1.0)
#                   ^
