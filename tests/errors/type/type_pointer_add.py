"""TYPE: a sum of pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x + y, 1.0)


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# type_pointer_add.py:9:14: CompileError[TYPE]: '+' cannot combine 'x' (a pointer to f32) and 'y' (a pointer to f32)
#     tl.store(x + y, 1.0)
#              ^~~~~
#   help: an offset is an integer; was a tl.load left out?
