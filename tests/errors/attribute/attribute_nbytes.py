"""ATTRIBUTE: NumPy's bytes of an array."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.arange(0, 8).nbytes)


def run():
    kernel.lower("*i32")


# ----
# attribute_nbytes.py:9:17: CompileError[ATTRIBUTE]: a block i32[8] has no attribute 'nbytes'
#     tl.store(x, tl.arange(0, 8).nbytes)
#                 ^~~~~~~~~~~~~~~~~~~~~~
#   help: here it is x.numel * x.dtype.itemsize
