"""TYPE: an fp8 number to an integer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.int32))


def run():
    kernel.lower("*fp8e5")


# ----
# type_cast_fp8_int.py:9:17: CompileError[TYPE]: there is no conversion from f8e5m2 to i32
#     tl.store(x, tl.load(x).to(tl.int32))
#                 ^~~~~~~~~~~~~~~~~~~~~~~
#   help: convert through tl.float32
