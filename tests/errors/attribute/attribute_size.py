"""ATTRIBUTE: the size of a tensor of the host."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, x.size)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# attribute_size.py:9:17: CompileError[ATTRIBUTE]: a pointer to f32 has no attribute 'size'
#     tl.store(x, x.size)
#                 ^~~~~~
#   help: of a tensor that is passed a kernel gets the address alone: pass its sizes and strides as arguments
