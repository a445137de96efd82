"""TYPE: an atomic on a value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.atomic_add(tl.load(x), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_atomic_value.py:9:19: CompileError[TYPE]: atomic_add needs a pointer or a block of pointers, not an f32 scalar
#     tl.atomic_add(tl.load(x), 1.0)
#                   ^~~~~~~~~~
#   help: a tensor that is passed to the kernel is a pointer, and so is that plus offsets; this is a value already
