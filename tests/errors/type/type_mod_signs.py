"""TYPE: a remainder of signed and unsigned."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, m):
    tl.store(x, n % m)


def run():
    kernel.lower("*fp32", "i32", "u32")


# ----
# type_mod_signs.py:9:17: CompileError[TYPE]: '%' cannot combine i32 and u32: one is signed, the other is not
#     tl.store(x, n % m)
#                 ^~~~~
#   help: convert one side: x.to(tl.int32)
