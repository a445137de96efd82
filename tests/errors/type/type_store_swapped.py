"""TYPE: offsets stored to."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(tl.arange(0, 4), 1.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_store_swapped.py:9:14: CompileError[TYPE]: store needs a pointer or a block of pointers, not a block i32[4]
#     tl.store(tl.arange(0, 4), 1.0)
#              ^~~~~~~~~~~~~~~
#   help: a tensor that is passed to the kernel is a pointer; an address becomes one by .to(tl.pointer_type(tl.float32))
