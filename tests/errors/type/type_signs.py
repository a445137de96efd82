"""TYPE: // of signed and unsigned."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.load(x) // tl.load(y))


def run():
    kernel.lower("*i32", "*u32")


# ----
# type_signs.py:9:17: CompileError[TYPE]: '//' cannot combine i32 and u32: one is signed, the other is not
#     tl.store(x, tl.load(x) // tl.load(y))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~
#   help: convert one side: x.to(tl.int32)
