"""VALUE: a block to a scalar pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.arange(0, 64))


def run():
    kernel.lower("*fp32")


# ----
# value_store_block.py:9:5: CompileError[VALUE]: a block cannot be stored to a scalar pointer
#     tl.store(x, tl.arange(0, 64))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: add a block of offsets to the pointer: p + tl.arange(..)
