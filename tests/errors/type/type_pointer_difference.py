"""TYPE: a difference of pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, x - y)


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# type_pointer_difference.py:9:17: CompileError[TYPE]: '-' cannot combine 'x' (a pointer to f32) and 'y' (a pointer to f32)
#     tl.store(x, x - y)
#                 ^~~~~
#   help: subtract addresses: p.to(tl.int64)
