"""TYPE: umulhi of 16 bits."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, tl.umulhi(v, v))


def run():
    kernel.lower("*i16")


# ----
# type_umulhi.py:10:17: CompileError[TYPE]: umulhi takes integers of 32 or 64 bits, not i16
#     tl.store(x, tl.umulhi(v, v))
#                 ^~~~~~~~~~~~~~~
