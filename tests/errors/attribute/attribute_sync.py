"""ATTRIBUTE: a barrier by another name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0)
    tl.sync()


def run():
    kernel.lower("*fp32")


# ----
# attribute_sync.py:10:5: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'sync'
#     tl.sync()
#     ^~~~~~~
#   help: here it is tl.debug_barrier()
