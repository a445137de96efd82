"""TYPE: pointers are not resized."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    p = tl.resize(x + tl.arange(0, 12), (10,))
    tl.store(p, 1)


def run():
    kernel.lower("*i32")


# ----
# type_resize_pointer.py:9:9: CompileError[TYPE]: resize takes numbers, not ptr<i32>[12]
#     p = tl.resize(x + tl.arange(0, 12), (10,))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.load them first
