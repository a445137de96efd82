"""TYPE: a range in the place of a block of offsets."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = range(16)
    tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_pointer_range.py:10:14: CompileError[TYPE]: '+' cannot combine 'x' (a pointer to f32) and 'i' (a range)
#     tl.store(x + i, 1.0)
#              ^~~~~
#   help: a range is what a for runs over; tl.arange(0, N) is a block of offsets
