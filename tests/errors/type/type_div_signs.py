"""TYPE: a quotient of blocks of both signs."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    tl.store(x + i, i // i.to(tl.uint64))


def run():
    kernel.lower("*fp32")


# ----
# type_div_signs.py:10:21: CompileError[TYPE]: '//' cannot combine i32 and u64: one is signed, the other is not
#     tl.store(x + i, i // i.to(tl.uint64))
#                     ^~~~~~~~~~~~~~~~~~~~
#   help: convert one side: x.to(tl.int32)
