"""VALUE: a block of values added to one place."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_add(x, tl.zeros((16,), tl.float32))


def run():
    kernel.lower("*fp32")


# ----
# value_atomic_block.py:9:5: CompileError[VALUE]: a block of values needs a block of pointers
#     tl.atomic_add(x, tl.zeros((16,), tl.float32))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: reduce it first: tl.sum(x); or add a block of offsets to the pointer
