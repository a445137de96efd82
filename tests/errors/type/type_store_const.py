"""TYPE: a store through a pointer declared tl.const."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x: tl.const, n):
    tl.store(x, 1.0)


def run():
    kernel.lower("*kfp32", "i32")


# ----
# type_store_const.py:9:14: CompileError[TYPE]: store through a pointer that is declared tl.const
#     tl.store(x, 1.0)
#              ^
