"""TYPE: value and dtype in the wrong order."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 4)
    tl.store(x + i, tl.full((4,), tl.float32, 1))


def run():
    kernel.lower("*fp32")


# ----
# type_full_order.py:10:47: CompileError[TYPE]: dtype must be a dtype such as tl.float32, not the constant int 1
#     tl.store(x + i, tl.full((4,), tl.float32, 1))
#                                               ^
#   help: by name the order is free: dtype=tl.float32
