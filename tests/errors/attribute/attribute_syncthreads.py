"""ATTRIBUTE: CUDA's barrier."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(x, 1.0)
    tl.syncthreads()


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# attribute_syncthreads.py:10:5: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'syncthreads'
#     tl.syncthreads()
#     ^~~~~~~~~~~~~~
#   help: here it is tl.debug_barrier()
