"""ATTRIBUTE: CUDA's threads."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(x + tl.threadIdx.x, 1.0)


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# attribute_thread.py:9:18: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'threadIdx'
#     tl.store(x + tl.threadIdx.x, 1.0)
#                  ^~~~~~~~~~~~
#   help: here it is tl.arange(0, N): a program works on blocks, threads are not seen
