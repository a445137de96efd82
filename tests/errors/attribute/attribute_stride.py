"""ATTRIBUTE: the stride of a tensor of the host."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, x.stride(0))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# attribute_stride.py:9:17: CompileError[ATTRIBUTE]: a pointer to f32 has no attribute 'stride'
#     tl.store(x, x.stride(0))
#                 ^~~~~~~~
#   help: of a tensor that is passed a kernel gets the address alone: pass its sizes and strides as arguments
