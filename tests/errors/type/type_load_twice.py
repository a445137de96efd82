"""TYPE: what was loaded is loaded from."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.load(tl.load(x)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_load_twice.py:9:25: CompileError[TYPE]: load needs a pointer or a block of pointers, not an f32 scalar
#     tl.store(x, tl.load(tl.load(x)))
#                         ^~~~~~~~~~
#   help: a tensor that is passed to the kernel is a pointer, and so is that plus offsets; this is a value already
