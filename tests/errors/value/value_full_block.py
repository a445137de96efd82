"""VALUE: full with a block as its value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.full((16, 16), tl.arange(0, 16), tl.float32)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# value_full_block.py:9:9: CompileError[VALUE]: full fills a block with a scalar, not with i32[16]
#     a = tl.full((16, 16), tl.arange(0, 16), tl.float32)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
