"""TYPE: a helper that is launched like a kernel."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(x):
    tl.store(x, 1.0)


@tegula.jit
def kernel(x):
    helper[(1,)](x)


def run():
    kernel.lower("*fp32")


# ----
# type_call_grid.py:14:5: CompileError[TYPE]: a kernel cannot call helper[(1,)]: it is no function of the kernel language
#     helper[(1,)](x)
#     ^~~~~~~~~~~~~~~
#   help: a kernel calls other functions without a grid: f(..)
