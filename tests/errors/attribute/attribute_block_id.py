"""ATTRIBUTE: CUDA's blocks."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(x + tl.blockIdx.x, 1.0)


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# attribute_block_id.py:9:18: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'blockIdx'
#     tl.store(x + tl.blockIdx.x, 1.0)
#                  ^~~~~~~~~~~
#   help: here it is tl.program_id(axis)
